//! Random tasks and settings: few ids, keys and claimers, so that they meet often.

use std::time::Duration;

use leasehold_core::decide::Intervention;
use leasehold_core::{
    Backoff, Configure, DeadReason, Delivery, Due, Edit, Features, Filter, Jitter, Keep, LimitKey,
    NewTask, OnLeased, Policy, Priority, Retention, RetryPolicy, Status, Timestamp,
};

use crate::random::Random;

/// The ids of a history's tasks.
pub(crate) const IDS: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
pub(super) const KINDS: [&str; 2] = ["x", "y"];

pub(super) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// What the tasks of a history may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Style {
    pub features: Features,
    /// How many of [`IDS`] are in use.
    pub ids: usize,
}

impl Style {
    pub fn has(&self, feature: Features) -> bool {
        self.features.contains(feature)
    }

    pub fn id(&self, random: &mut Random) -> &'static str {
        random.pick(&IDS[..self.ids])
    }

    pub fn task(&self, random: &mut Random) -> NewTask {
        let delivery = random.pick(&[
            Delivery::AtLeastOnce { max_rescues: 1 },
            Delivery::AtLeastOnce { max_rescues: 9 },
            Delivery::NotAfterLoss,
            Delivery::AtMostOnce,
        ]);
        let payload = random.pick(&[&b""[..], &b"\0\xff"[..], &b"text"[..]]);
        let mut new = NewTask::named(self.id(random), random.pick(&KINDS), payload, delivery)
            .with_retry(retry(random))
            .with_priority(Priority::new(random.pick(&[0, 4, 4, 9])));
        if random.chance(20) {
            new = new.with_header("trace", "\0\u{1f980}");
        }
        new = match random.below(8) {
            0 => new.with_due(Due::In(ms(random.below(2_000) as u64))),
            1 => new.with_due(Due::At(Timestamp::from_millis(5))),
            _ => new,
        };
        if random.chance(45) {
            new = self.limited(random, new);
        }
        if random.chance(40) {
            new = self.keyed(random, new);
        }
        if random.chance(50) {
            new = new.with_retention(retention(random));
        }
        new
    }

    /// The same under a limit.
    pub fn limited(&self, random: &mut Random, new: NewTask) -> NewTask {
        match self.has(Features::LIMITS) {
            true => new.with_limit(LimitKey::new("g", random.pick(&["k", "l"]))),
            false => new,
        }
    }

    /// The same with a unique key.
    pub fn keyed(&self, random: &mut Random, new: NewTask) -> NewTask {
        match self.has(Features::UNIQUE) {
            true => new.with_unique(random.pick(&["u", "v"])),
            false => new,
        }
    }

    pub fn settings(&self, random: &mut Random) -> Configure {
        let request = Configure::new("");
        match random.below(12) {
            0 | 1 => request.pause(),
            2..5 => request.resume(),
            5..8 if self.has(Features::LIMITS) => {
                let max = random.pick(&[0, 1, 1, 2]);
                request.with_limit("g", max).resume()
            }
            8 | 9 => request.with_retention(retention(random)),
            _ => request.with_id_memory(random.pick(&[ms(0), ms(500), ms(500), ms(5_000)])),
        }
    }
}

fn retry(random: &mut Random) -> RetryPolicy {
    let delay = random.pick(&[ms(0), ms(300)]);
    RetryPolicy::at_most(random.pick(&[0, 1, 2]))
        .with_backoff(Backoff::Constant { delay })
        .with_jitter(Jitter::Half)
}

fn retention(random: &mut Random) -> Retention {
    let keeps = [Keep::NOT, Keep::NOT, Keep::For(ms(700)), Keep::Forever];
    let mut retention = Retention::default();
    if random.chance(70) {
        retention = retention.with_succeeded(random.pick(&keeps));
    }
    if random.chance(70) {
        retention = retention.with_cancelled(random.pick(&keeps));
    }
    if random.chance(70) {
        retention = retention.with_dead(random.pick(&keeps));
    }
    retention
}

pub(super) fn act(random: &mut Random) -> Intervention {
    match random.below(14) {
        0 | 1 => Intervention::Cancel,
        2 | 3 => Intervention::Bury,
        4 | 5 => Intervention::Requeue(OnLeased::Refuse),
        6 => Intervention::Requeue(OnLeased::Revoke),
        7 | 8 => Intervention::Delete,
        9..12 => Intervention::Redrive,
        _ => Intervention::Edit(edit(random)),
    }
}

fn edit(random: &mut Random) -> Edit {
    let mut edit = Edit::default();
    if random.chance(50) {
        edit = edit.with_payload("edited");
    }
    if random.chance(50) {
        edit = edit.with_priority(Priority::new(random.pick(&[0, 9])));
    }
    if random.chance(50) {
        edit = edit.with_due(Due::In(ms(random.below(1_500) as u64)));
    }
    if random.chance(30) {
        let policy = Policy::new(Delivery::NotAfterLoss);
        edit = edit.with_policy(policy.with_retention(retention(random)));
    }
    edit
}

pub(super) fn filter(random: &mut Random) -> Filter {
    let filter = Filter::all();
    match random.below(5) {
        0 | 1 => filter.with_status(random.pick(&Status::ALL)),
        2 => filter.with_kind(random.pick(&KINDS)),
        3 => filter.with_reason(random.pick(&[DeadReason::Lost, DeadReason::Exhausted])),
        _ => filter,
    }
}
