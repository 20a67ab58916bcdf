//! The parts of calls and answers as the files write them.

use std::time::Duration;

use leasehold_core::{
    Backoff, Delivery, Due, Jitter, Keep, LimitKey, NewTask, Priority, Retention, RetryPolicy,
};
use serde::{Deserialize, Serialize};

/// What is left out of a file.
pub(super) fn unset<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A new task.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct New {
    pub id: String,
    pub delivery: DeliveryText,
    #[serde(default, skip_serializing_if = "unset")]
    pub max_retries: u32,
    /// The constant delay before a retry.
    #[serde(default, skip_serializing_if = "unset")]
    pub retry_delay_ms: u64,
    #[serde(default, skip_serializing_if = "unset")]
    pub payload: String,
    #[serde(default = "default_priority")]
    pub priority: u8,
    #[serde(default, skip_serializing_if = "unset")]
    pub delay_ms: u64,
    #[serde(default, skip_serializing_if = "unset")]
    pub limit: Option<LimitKey>,
    #[serde(default, skip_serializing_if = "unset")]
    pub unique: Option<String>,
    /// Whether it stays for ever once it has finished, however it ends.
    #[serde(default, skip_serializing_if = "unset")]
    pub kept: bool,
}

fn default_priority() -> u8 {
    Priority::DEFAULT.level()
}

/// What follows a lost worker.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DeliveryText {
    AtLeastOnce { max_rescues: u32 },
    NotAfterLoss,
    AtMostOnce,
}

impl New {
    pub fn task(&self) -> NewTask {
        let delivery = match self.delivery {
            DeliveryText::AtLeastOnce { max_rescues } => Delivery::AtLeastOnce { max_rescues },
            DeliveryText::NotAfterLoss => Delivery::NotAfterLoss,
            DeliveryText::AtMostOnce => Delivery::AtMostOnce,
        };
        let delay = Duration::from_millis(self.retry_delay_ms);
        let retry = RetryPolicy::at_most(self.max_retries)
            .with_backoff(Backoff::Constant { delay })
            .with_jitter(Jitter::None);
        let payload = self.payload.clone().into_bytes();
        let mut new = NewTask::named(&self.id, "kind", payload, delivery)
            .with_retry(retry)
            .with_priority(Priority::new(self.priority))
            .with_due(Due::In(Duration::from_millis(self.delay_ms)));
        if self.kept {
            let keep = Keep::Forever;
            let retention = Retention::default();
            let retention = retention.with_succeeded(keep).with_cancelled(keep).with_dead(keep);
            new = new.with_retention(retention);
        }
        (new.limit, new.unique) = (self.limit.clone(), self.unique.clone());
        new
    }
}
