//! configure: `lua/configure.lua`, which also reads a queue's settings.

use std::time::Duration;

use leasehold_core::clock::millis;
use leasehold_core::{Configure, DeadReason, Keep, QueueSettings, State};
use redis::Value;

use super::RedisBackend;
use super::enqueue::text;
use crate::codec::{keep, unreadable};
use crate::error::Fault;
use crate::scripts::Script;

/// The retention of a queue under its names in the settings. That of lost tasks is derived from
/// that of the dead, by core.
const KEEPS: [(&str, State); 4] = [
    ("keep:succeeded", State::Succeeded),
    ("keep:cancelled", State::Cancelled),
    ("keep:dead", State::Dead(DeadReason::Exhausted)),
    ("keep:lost", State::Dead(DeadReason::Lost)),
];

impl RedisBackend {
    pub(super) async fn configure_step(&self, request: &Configure) -> Result<QueueSettings, Fault> {
        self.note_queue(&request.queue).await?;
        let mut set = Vec::new();
        if let Some(paused) = request.paused {
            set.push(("paused", u8::from(paused).to_string()));
        }
        if let Some(time) = request.id_memory {
            set.push(("id_memory", millis(time).to_string()));
        }
        for (name, state) in KEEPS {
            set.extend(request.retention.of(state).map(|time| (name, keep(time).to_string())));
        }
        let mut call = self.call(Script::Configure, &request.queue);
        call.number(set.len());
        for (name, value) in set {
            call.arg(name).arg(value);
        }
        for (group, max) in &request.limits {
            call.arg(group).number(max);
        }
        let reply = call.run(&self.link).await?;
        if let [_, _, Value::Int(1)] = &reply[..] {
            self.note_again(&request.queue).await?;
        }
        settings(&reply).map(Option::unwrap_or_default)
    }

    /// A queue's settings; `None` where it has had neither a task nor a setting.
    pub(super) async fn settings_of(&self, queue: &str) -> Result<Option<QueueSettings>, Fault> {
        let mut call = self.call(Script::Configure, queue);
        call.arg("-");
        settings(&call.run(&self.link).await?)
    }
}

fn settings(reply: &[Value]) -> Result<Option<QueueSettings>, Fault> {
    let wrong = || unreadable("a queue's settings");
    let [Value::Array(set), Value::Array(limits), _] = reply else { return Err(wrong()) };
    // Purge may have left a mark for itself in a queue that never was.
    if !set.iter().any(|name| *name == Value::BulkString(b"made".to_vec())) {
        return Ok(None);
    }
    let mut settings = QueueSettings::default();
    for pair in set.chunks(2) {
        let [name, value] = pair else { return Err(wrong()) };
        take(&mut settings, text(name)?, text(value)?).ok_or_else(wrong)?;
    }
    for pair in limits.chunks(2) {
        let [group, max] = pair else { return Err(wrong()) };
        let max = text(max)?.parse().map_err(|_| wrong())?;
        settings.limits.insert(text(group)?.to_owned(), max);
    }
    Ok(Some(settings))
}

/// Takes over one setting; what the scripts alone use is passed over. `None` if it is none.
fn take(settings: &mut QueueSettings, name: &str, value: &str) -> Option<()> {
    match name {
        "paused" => settings.paused = value == "1",
        "id_memory" => settings.id_memory = Duration::from_millis(value.parse().ok()?),
        "keep:succeeded" => settings.retention.succeeded = Some(kept(value)?),
        "keep:cancelled" => settings.retention.cancelled = Some(kept(value)?),
        "keep:dead" => settings.retention.dead = Some(kept(value)?),
        _ => {}
    }
    Some(())
}

fn kept(value: &str) -> Option<Keep> {
    match value {
        "-1" => Some(Keep::Forever),
        ms => ms.parse().ok().map(|ms| Keep::For(Duration::from_millis(ms))),
    }
}
