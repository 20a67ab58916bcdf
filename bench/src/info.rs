//! [`Info`]: what a Redis server says of itself.

use std::collections::HashMap;

use redis::aio::MultiplexedConnection;

use crate::Fault;

/// The settings of a server that speed depends on.
const SETTINGS: [&str; 6] = [
    "save",
    "appendonly",
    "appendfsync",
    "auto-aof-rewrite-percentage",
    "io-threads",
    "maxmemory-policy",
];

/// A server under measurement.
pub struct Server(MultiplexedConnection);

/// Its counters at one instant.
#[derive(Debug, Clone, Copy)]
pub struct Info {
    /// Processor time, in microseconds.
    pub cpu_us: f64,
    /// Commands, those of scripts included.
    pub commands: f64,
    /// Reads from sockets.
    pub reads: f64,
    /// Memory in use, in bytes.
    pub memory: f64,
}

impl Server {
    /// Connects.
    pub async fn at(url: &str) -> Result<Self, Fault> {
        let client = redis::Client::open(url)?;
        // It may free a million entries when it is emptied.
        let patient = redis::AsyncConnectionConfig::new().set_response_timeout(None);
        Ok(Self(client.get_multiplexed_async_connection_with_config(&patient).await?))
    }

    /// Removes everything, and comes back when that is done.
    pub async fn empty(&mut self) -> Result<(), Fault> {
        Ok(redis::cmd("FLUSHALL").arg("SYNC").query_async(&mut self.0).await?)
    }

    /// Reads the counters.
    pub async fn info(&mut self) -> Result<Info, Fault> {
        let text: String = redis::cmd("INFO").arg("everything").query_async(&mut self.0).await?;
        let fields: HashMap<&str, &str> =
            text.lines().filter_map(|line| line.split_once(':')).collect();
        let number = |name: &str| -> Result<f64, Fault> {
            Ok(fields.get(name).ok_or_else(|| format!("INFO has no {name}"))?.parse()?)
        };
        let commands = fields.iter().filter(|(name, _)| name.starts_with("cmdstat_"));
        let calls = commands.filter_map(|(_, stat)| calls(stat));
        Ok(Info {
            cpu_us: (number("used_cpu_user")? + number("used_cpu_sys")?) * 1e6,
            commands: calls.sum(),
            reads: number("total_reads_processed")?,
            memory: number("used_memory")?,
        })
    }

    /// Its version and the settings that speed depends on.
    pub async fn settings(&mut self) -> Result<Vec<(String, String)>, Fault> {
        let text: String = redis::cmd("INFO").arg("server").query_async(&mut self.0).await?;
        let version = text.lines().find_map(|line| line.strip_prefix("redis_version:"));
        let mut settings = vec![("version".to_owned(), version.unwrap_or("unknown").to_owned())];
        for name in SETTINGS {
            let found: Vec<String> =
                redis::cmd("CONFIG").arg("GET").arg(name).query_async(&mut self.0).await?;
            let value = found.get(1).cloned().unwrap_or_default();
            settings.push((name.to_owned(), value));
        }
        Ok(settings)
    }
}

/// The calls in `calls=8,usec=...`.
fn calls(stat: &str) -> Option<f64> {
    stat.split(',').find_map(|part| part.strip_prefix("calls="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::calls;

    #[test]
    fn calls_are_told_from_the_other_figures() {
        let stat = "rejected_calls=7,calls=12,usec=340,usec_per_call=28.33,failed_calls=5";
        assert_eq!(calls(stat), Some(12.0));
        assert_eq!(calls("usec=340"), None);
    }
}
