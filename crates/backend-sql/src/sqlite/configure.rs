//! configure: durable settings of a queue (LH-CTL-1).

use leasehold_core::clock::millis;
use leasehold_core::stored::encode_retention;
use leasehold_core::{Configure, QueueSettings};

use super::step::{Queue, Step};
use crate::error::Fault;

pub(super) async fn configure(step: &mut Step, request: Configure) -> Result<QueueSettings, Fault> {
    let queue = Queue::named(step, &request.queue).await?;
    let set = sql!("queue_set")
        .bind(queue.key)
        .bind(request.paused)
        .bind(encode_retention(request.retention.or(queue.retention)))
        .bind(request.id_memory.map(millis));
    set.execute(step.conn()).await?;
    for (group, max) in &request.limits {
        let set = sql!("limit_set").bind(queue.key).bind(group).bind(max);
        set.execute(step.conn()).await?;
        // A greater number frees places behind which tasks are parked.
        let wake = sql!("key_wake_group").bind(queue.key).bind(group);
        wake.execute(step.conn()).await?;
    }
    queue.settings(step).await
}
