//! The names of the queues: noted before a queue gets its first task or setting, listed by queues.
//!
//! They lie under a key of their own, in another hash slot than the queues: a name may be noted
//! for a queue that came to nothing, and is then passed over.

use leasehold_core::{Cursor, QueueInfo, QueuePage, Queues};
use redis::Value;

use super::RedisBackend;
use super::enqueue::text;
use crate::codec::unreadable;
use crate::error::Fault;

impl RedisBackend {
    /// Notes the queue's name, once for each handle.
    pub(super) async fn note_queue(&self, queue: &str) -> Result<(), Fault> {
        if self.has_noted(queue) {
            return Ok(());
        }
        // A server whose memory is full refuses every note, and has to take the settings of a
        // queue that it knows: to pause it may be the way out.
        let mut look = redis::cmd("ZSCORE");
        look.arg(self.keys.queues()).arg(queue);
        if self.link.send(&look).await? != Value::Nil {
            self.now_noted(queue);
            return Ok(());
        }
        self.note_again(queue).await
    }

    pub(super) async fn note_again(&self, queue: &str) -> Result<(), Fault> {
        let mut note = redis::cmd("ZADD");
        note.arg(self.keys.queues()).arg(0).arg(queue);
        self.link.send(&note).await?;
        self.now_noted(queue);
        Ok(())
    }

    pub(super) async fn queues_step(&self, request: &Queues) -> Result<QueuePage, Fault> {
        let mut after = request.after.as_ref().map(|cursor| cursor.as_str().to_owned());
        let mut found = Vec::new();
        loop {
            let names = self.names(after.as_deref(), request.max).await?;
            let is_last = names.len() < request.max;
            for name in names {
                if found.len() == request.max {
                    return Ok(QueuePage::new(found, after.map(Cursor::new)));
                }
                if let Some(settings) = self.settings_of(&name).await? {
                    found.push(QueueInfo::new(&*name, settings));
                }
                after = Some(name);
            }
            if is_last {
                return Ok(QueuePage::new(found, None));
            }
        }
    }

    async fn names(&self, after: Option<&str>, max: usize) -> Result<Vec<String>, Fault> {
        let mut names = redis::cmd("ZRANGEBYLEX");
        names.arg(self.keys.queues());
        match after {
            None => names.arg("-"),
            Some(after) => names.arg(format!("({after}")),
        };
        names.arg("+").arg("LIMIT").arg(0).arg(max);
        match self.link.send(&names).await? {
            Value::Array(names) => names.iter().map(|name| text(name).map(str::to_owned)).collect(),
            _ => Err(unreadable("the names of the queues")),
        }
    }
}
