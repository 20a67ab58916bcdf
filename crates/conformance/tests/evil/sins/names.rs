//! Bytes, names, features and what else holds for every verb.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use leasehold_conformance::model::{Model, Op, Reply};
use leasehold_core::clause;
use leasehold_core::{
    Capabilities, Error, ErrorKind, Features, Headers, Payload, RenewVerdict, To,
};

use super::each_new;
use crate::charge::Charge;
use crate::sin::{Answer, Sin, before};

pub const ALL: &[Charge] = &[
    Charge {
        no: 32,
        name: "payload as text",
        what: "a payload is stored as text, so that foreign bytes are replaced",
        met: "JSON",
        sin: || {
            before(|_, op| {
                each_new(op, |new| {
                    let text = String::from_utf8_lossy(new.payload.as_bytes()).into_owned();
                    new.payload = Payload::from(text.into_bytes());
                })
            })
        },
        killed_by: &[("verbs/opaque_bytes", clause::GEN_6)],
        also: "enq lapse",
        ..Charge::NONE
    },
    Charge {
        no: 32,
        name: "payload ends at a zero",
        what: "a payload is cut at its first NUL byte",
        met: "C strings",
        sin: || {
            before(|_, op| {
                each_new(op, |new| {
                    let bytes = new.payload.as_bytes();
                    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
                    new.payload = Payload::from(bytes[..end].to_vec());
                })
            })
        },
        killed_by: &[("verbs/opaque_bytes", clause::GEN_6)],
        also: "enq lapse",
        ..Charge::NONE
    },
    Charge {
        name: "headers as a map",
        what: "headers are sorted, and of two with one name the last is kept",
        met: "a map in JSON",
        sin: || {
            before(|_, op| {
                each_new(op, |new| {
                    let map: std::collections::BTreeMap<String, String> = new
                        .headers
                        .iter()
                        .map(|(name, value)| (name.to_owned(), value.to_owned()))
                        .collect();
                    new.headers = map.into_iter().collect::<Headers>();
                })
            })
        },
        killed_by: &[("verbs/opaque_headers", clause::GEN_6)],
        also: "enq",
        ..Charge::NONE
    },
    Charge {
        no: 33,
        name: "queue names are cut",
        what: "a queue is kept under what stands before a colon in its name",
        met: "names joined by a separator",
        sin: || Arc::new(Renamed(|name| name.split(':').next().unwrap_or(name).to_owned())),
        killed_by: &[("verbs/queues_never_touch", clause::GEN_7)],
        also: "read budget",
        ..Charge::NONE
    },
    Charge {
        no: 33,
        name: "queue names without case",
        what: "two queues that differ by case are one",
        met: "a collation",
        sin: || Arc::new(Renamed(str::to_lowercase)),
        killed_by: &[("verbs/queues_never_touch", clause::GEN_7)],
        also: "read ctl",
        ..Charge::NONE
    },
    Charge {
        name: "an empty batch is an error",
        what: "a call of renew or commit without items fails",
        met: "an empty VALUES list",
        sin: || Arc::new(NotEmpty),
        killed_by: &[("verbs/empty_batches_do_nothing", clause::GEN_2)],
        ..Charge::NONE
    },
    Charge {
        name: "a renew cannot be repeated",
        what: "a second renew at one instant is refused",
        sin: || Arc::new(OneRenew),
        killed_by: &[("verbs/verbs_can_be_repeated", clause::GEN_4)],
        also: "dropped renew",
        ..Charge::NONE
    },
    Charge {
        no: 41,
        name: "undeclared is accepted",
        what: "a store without any feature takes requests that need one",
        sin: || Arc::new(Accepts),
        features: Features::empty(),
        killed_by: &[("refuses/undeclared_features", clause::GEN_9)],
        also: "enq ctl claim obs late renew retry give dead limit uniq follow replay",
        ..Charge::NONE
    },
    Charge {
        no: 41,
        name: "undeclared is dropped",
        what: "a store without kinds grants any kind to whoever asks for some",
        met: "a field that an old version does not know",
        sin: || Arc::new(Accepts),
        features: Features::all().difference(Features::KINDS),
        killed_by: &[("refuses/undeclared_features", clause::GEN_9)],
        also: "claim limit",
        ..Charge::NONE
    },
    Charge {
        name: "features are overstated",
        what: "a store tells features that its harness does not know of",
        sin: || Arc::new(Overstates),
        features: Features::empty(),
        killed_by: &[("meta/profile_matches", clause::GEN_9)],
        ..Charge::NONE
    },
    Charge {
        name: "another contract",
        what: "a store keeps another version of the contract",
        sin: || Arc::new(OtherContract),
        killed_by: &[("meta/profile_matches", clause::GEN_10)],
        ..Charge::NONE
    },
    Charge {
        name: "a dropped commit leaves its record",
        what: "a success writes its record in one step and the rest in another",
        met: "a log beside the queue",
        sin: || Arc::new(RecordFirst::default()),
        killed_by: &[("dropped/counts_as_a_lost_reply", clause::GEN_5)],
        ..Charge::NONE
    },
];

/// Keeps queues under other names.
struct Renamed(fn(&str) -> String);

impl Sin for Renamed {
    fn queue(&self, name: &str) -> String {
        self.0(name)
    }
}

struct NotEmpty;

impl Sin for NotEmpty {
    fn batch(&self, answers: Vec<Answer>) -> Result<Vec<Answer>, Error> {
        if answers.is_empty() { Err(Error::invalid("no item")) } else { Ok(answers) }
    }
}

struct OneRenew;

impl Sin for OneRenew {
    fn after(&self, before: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
        let (Op::Renew(item), Reply::Renewed(RenewVerdict::Held { .. })) = (op, &*reply) else {
            return;
        };
        let id = &item.guard.task.id;
        let until = |model: &Model| model.task(id).and_then(|task| task.until);
        let granted = before.grants.get(&(id.clone(), item.guard.fence));
        let first = granted.is_some_and(|grant| grant.task.until == until(before));
        if !first && until(before) == until(next) {
            *reply = Reply::Refused(ErrorKind::Invalid);
        }
    }
}

struct Accepts;

impl Sin for Accepts {
    fn admit(&self, _verb: &str, admitted: Result<(), Error>) -> Result<(), Error> {
        admitted.or_else(|error| match error.kind() {
            ErrorKind::Unsupported => Ok(()),
            _ => Err(error),
        })
    }
}

struct Overstates;

impl Sin for Overstates {
    fn capabilities(&self, told: &mut Capabilities) {
        told.features |= Features::LIMITS;
    }
}

struct OtherContract;

impl Sin for OtherContract {
    fn capabilities(&self, told: &mut Capabilities) {
        told.contract.0 += 1;
    }
}

/// Whether the call that goes on has written its record.
#[derive(Default)]
struct RecordFirst(AtomicBool);

impl Sin for RecordFirst {
    fn torn(&self, model: &mut Model, op: &Op) -> bool {
        let Op::Commit(item) = op else { return false };
        let now = model.now;
        let Some(task) = super::task(model, &item.guard.task.id) else { return false };
        let first = item.change.to == To::Succeeded && task.fence == item.guard.fence;
        if first {
            let record = item.change.record(now, item.guard.fence, task.attempt);
            task.history.push(record, usize::MAX);
        }
        self.0.store(first, Ordering::Relaxed);
        first
    }

    fn before(&self, _by: usize, model: &mut Model, op: &mut Op) {
        // Whoever was dropped in between never comes to this.
        if let Op::Commit(item) = op
            && self.0.swap(false, Ordering::Relaxed)
            && let Some(task) = super::task(model, &item.guard.task.id)
        {
            task.history.records.pop();
        }
    }
}
