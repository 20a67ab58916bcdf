//! purge: `lua/purge.lua`.

use std::time::Duration;

use leasehold_core::clock::millis;
use leasehold_core::{Purge, Purged, QueueSettings};
use redis::Value;

use super::RedisBackend;
use crate::codec::unreadable;
use crate::error::Fault;
use crate::scripts::Script;

/// How long a claim is recorded at least (LH-CLAIM-9).
const RECORD_MIN: Duration = Duration::from_secs(60 * 60);

impl RedisBackend {
    pub(super) async fn purge_step(&self, request: &Purge) -> Result<Purged, Fault> {
        let mut call = self.call(Script::Purge, &request.queue);
        call.number(request.max).number(millis(QueueSettings::default().id_memory));
        call.number(millis(RECORD_MIN));
        match call.run(&self.link).await?[..] {
            [Value::Int(tasks), Value::Int(more)] => {
                let tasks = usize::try_from(tasks).map_err(|_| unreadable("a purge's reply"))?;
                Ok(Purged::new(tasks, more != 0))
            }
            _ => Err(unreadable("a purge's reply")),
        }
    }
}
