//! How tasks come to be: fields, repeats, batches, memory of ids.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use leasehold_conformance::model::{Model, Op, Reply, predict};
use leasehold_core::clause;
use leasehold_core::{Due, EnqueueVerdict, Error, ErrorKind, Headers, Priority, State, Timestamp};

use super::each_new;
use crate::charge::Charge;
use crate::sin::{Sin, after, before};

pub const ALL: &[Charge] = &[
    Charge {
        name: "headers are dropped",
        what: "a new task has no headers",
        sin: || before(|_, op| each_new(op, |new| new.headers = Headers::new())),
        killed_by: &[
            ("enq/a_new_task_has_every_field", clause::ENQ_1),
            ("verbs/opaque_headers", clause::GEN_6),
        ],
        also: "enq follow",
        ..Charge::NONE
    },
    Charge {
        name: "priority is rounded",
        what: "a store of three priorities keeps the nearest",
        met: "Redis lists by level",
        sin: || {
            before(|_, op| {
                each_new(op, |new| {
                    new.priority = Priority::new(new.priority.level() / 4 * 4);
                })
            })
        },
        killed_by: &[
            ("enq/a_new_task_has_every_field", clause::ENQ_1),
            ("claim/order_of_service", clause::CLAIM_3),
        ],
        ..Charge::NONE
    },
    Charge {
        no: 38,
        name: "a repeat overwrites",
        what: "an enqueue under an id that waits replaces the task",
        met: "SET without NX",
        sin: || before(overwrites),
        killed_by: &[("enq/repeat_is_duplicate_in_every_state", clause::ENQ_2)],
        also: "verbs dropped enq obs uniq",
        ..Charge::NONE
    },
    Charge {
        name: "the finished may come again",
        what: "an enqueue under the id of a finished task replaces it",
        met: "a unique index over the unfinished",
        sin: || before(replaces_the_finished),
        killed_by: &[("enq/repeat_is_duplicate_in_every_state", clause::ENQ_2)],
        also: "verbs held",
        ..Charge::NONE
    },
    Charge {
        name: "past due overtakes",
        what: "a due time in the past is stored as it is",
        sin: || after(past_due),
        killed_by: &[("enq/past_due_overtakes_nobody", clause::ENQ_3)],
        ..Charge::NONE
    },
    Charge {
        no: 29,
        name: "what waits expires",
        what: "a task that waits for a year is dropped",
        met: "a time to live on the payload",
        sin: || before(what_waits_expires),
        killed_by: &[("enq/far_due_never_expires", clause::ENQ_3)],
        also: "time late purge",
        ..Charge::NONE
    },
    Charge {
        name: "seen by its own handle alone",
        what: "a claim by another handle does not see what was just enqueued",
        met: "a local buffer",
        sin: || Arc::new(OwnHandle::default()),
        killed_by: &[("enq/every_handle_can_claim", clause::ENQ_4)],
        also: "race late commit renew lapse retry give budget mode limit",
        ..Charge::NONE
    },
    Charge {
        name: "anything is taken",
        what: "an enqueue is not looked at before it is stored",
        sin: || Arc::new(Anything),
        killed_by: &[
            ("enq/invalid_is_refused", clause::ENQ_5),
            ("time/far_times_are_kept_or_refused", clause::TIME_6),
        ],
        also: "enq mode follow",
        ..Charge::NONE
    },
    Charge {
        name: "the good part of a bad batch",
        what: "an Invalid item is refused and the others are stored",
        met: "one statement an item",
        sin: || Arc::new(GoodPart::default()),
        killed_by: &[("enq/all_or_nothing", clause::ENQ_7)],
        also: "enq",
        ..Charge::NONE
    },
    Charge {
        name: "half a batch",
        what: "an enqueue writes its first task in one step and the rest in another",
        met: "a pipeline without a transaction",
        sin: || Arc::new(Half::default()),
        killed_by: &[("dropped/an_enqueue_is_whole_or_not_at_all", clause::ENQ_7)],
        also: "verbs",
        ..Charge::NONE
    },
    Charge {
        name: "ids are not remembered",
        what: "the id of a task that left is free at once",
        met: "mutant, 6 steps",
        sin: || after(|_, next, _, _| next.left.clear()),
        killed_by: &[
            ("enq/an_id_is_remembered_and_then_free", clause::ENQ_9),
            ("purge/leaves_the_remembered_id", clause::ENQ_9),
        ],
        also: "verbs enq obs race late commit oper purge limit uniq follow",
        ..Charge::NONE
    },
    Charge {
        name: "ids are remembered for ever",
        what: "the id of a task that left is never free again",
        sin: || {
            after(|_, next, _, _| {
                for (_, until) in next.left.values_mut() {
                    *until = Timestamp::MAX;
                }
            })
        },
        killed_by: &[("enq/an_id_is_remembered_and_then_free", clause::ENQ_9)],
        also: "fence enq commit renew oper purge",
        ..Charge::NONE
    },
    Charge {
        name: "a duplicate tells another state",
        what: "a repeat is told that its task waits, whatever became of it",
        sin: || {
            after(|_, _, _, reply| {
                if let Reply::Enqueued(verdicts) = reply {
                    for verdict in verdicts {
                        if let EnqueueVerdict::Duplicate { state: Some(state), .. } = verdict {
                            *state = State::Waiting;
                        }
                    }
                }
            })
        },
        killed_by: &[("enq/repeat_is_duplicate_in_every_state", clause::ENQ_2)],
        also: "verbs held uniq",
        ..Charge::NONE
    },
    Charge {
        name: "bounds are not kept to",
        what: "a store states smaller bounds than it keeps to",
        sin: || Arc::new(OtherBounds),
        killed_by: &[("follow/bounds_are_exact_for_enqueue", clause::ENQ_10)],
        also: "enq commit follow",
        ..Charge::NONE
    },
];

fn overwrites(model: &mut Model, op: &mut Op) {
    if let Op::Enqueue(tasks) = op {
        for new in tasks {
            if model.task(&new.id).is_some_and(|task| task.state == State::Waiting) {
                model.tasks.remove(&new.id);
            }
        }
    }
}

fn replaces_the_finished(model: &mut Model, op: &mut Op) {
    if let Op::Enqueue(tasks) = op {
        for new in tasks {
            if model.task(&new.id).is_some_and(|task| task.state.is_finished()) {
                model.tasks.remove(&new.id);
            }
        }
    }
}

fn past_due(_: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
    let (Op::Enqueue(tasks), Reply::Enqueued(verdicts)) = (op, &*reply) else { return };
    for (new, verdict) in tasks.iter().zip(verdicts) {
        if let (Due::At(due), EnqueueVerdict::Enqueued { .. }) = (new.due, verdict)
            && let Some(task) = super::task(next, &new.id)
        {
            task.due = due;
        }
    }
}

fn what_waits_expires(model: &mut Model, _: &mut Op) {
    let (now, year) = (model.now, Duration::from_secs(365 * 24 * 60 * 60));
    model.tasks.retain(|_, kept| {
        kept.task.state != State::Waiting || kept.task.enqueued_at.after(year) > now
    });
}

/// Which handle enqueued last.
#[derive(Default)]
struct OwnHandle(Mutex<Option<(usize, Timestamp)>>);

impl Sin for OwnHandle {
    fn before(&self, by: usize, model: &mut Model, op: &mut Op) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match op {
            Op::Enqueue(_) => *last = Some((by, model.now)),
            Op::Claim(claim) if last.is_some_and(|(its, at)| its != by && at == model.now) => {
                claim.kinds = Some(Vec::new());
            }
            _ => {}
        }
    }
}

struct Anything;

impl Sin for Anything {
    fn admit(&self, verb: &str, admitted: Result<(), Error>) -> Result<(), Error> {
        if verb == "enqueue" { Ok(()) } else { admitted }
    }
}

/// Whether something of the batch was bad.
#[derive(Default)]
struct GoodPart(Mutex<bool>);

impl Sin for GoodPart {
    fn admit(&self, verb: &str, admitted: Result<(), Error>) -> Result<(), Error> {
        if verb == "enqueue" { Ok(()) } else { admitted }
    }

    fn before(&self, _by: usize, model: &mut Model, op: &mut Op) {
        if let Op::Enqueue(tasks) = op {
            let all = tasks.len();
            tasks.retain(|new| new.check(&model.capabilities.bounds).is_ok());
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = tasks.len() < all;
        }
    }

    fn after(&self, _: &Model, _: &mut Model, op: &Op, reply: &mut Reply) {
        let bad = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(op, Op::Enqueue(_)) && bad {
            *reply = Reply::Refused(ErrorKind::Invalid);
        }
    }
}

/// Whether the call that goes on has written its first task.
#[derive(Default)]
struct Half(AtomicBool);

impl Sin for Half {
    fn torn(&self, model: &mut Model, op: &Op) -> bool {
        let Op::Enqueue(tasks) = op else { return false };
        let first = tasks.first().filter(|new| model.task(&new.id).is_none() && tasks.len() > 1);
        if let Some(first) = first {
            (*model, _) = predict(model, &Op::Enqueue(vec![first.clone()]));
        }
        self.0.store(first.is_some(), Ordering::Relaxed);
        first.is_some()
    }

    fn before(&self, _by: usize, model: &mut Model, op: &mut Op) {
        // Whoever was not dropped in between finds the batch as new as it was.
        if let Op::Enqueue(tasks) = op
            && self.0.swap(false, Ordering::Relaxed)
            && let Some(first) = tasks.first()
        {
            model.tasks.remove(&first.id);
        }
    }
}

struct OtherBounds;

impl Sin for OtherBounds {
    fn capabilities(&self, told: &mut leasehold_core::Capabilities) {
        told.bounds = told.bounds.clone().with_payload_bytes_max(told.bounds.payload_bytes_max - 1);
    }
}
