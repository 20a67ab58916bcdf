//! Reads, counts and settings.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use leasehold_conformance::model::{Model, Op, Reply};
use leasehold_core::clause;
use leasehold_core::{Found, List, Page, QueueInfo, QueueSettings, Status, Timestamp};

use crate::charge::Charge;
use crate::sin::{Sin, after, before};

/// A store that never counts one kind of event.
macro_rules! uncounted {
    ($event:ident, $name:literal, $case:literal, $clause:ident, $also:literal) => {
        Charge {
            name: $name,
            what: concat!("the counter ", stringify!($event), " stays at 0"),
            sin: || after(|_, next, _, _| next.events.$event = 0),
            killed_by: &[($case, clause::$clause)],
            also: $also,
            ..Charge::NONE
        }
    };
}

pub const ALL: &[Charge] = &[
    Charge {
        no: 42,
        name: "a get from a cache",
        what: "a get shows the task as it was when it was read first",
        met: "a read from a replica",
        sin: || Arc::new(Cached::default()),
        killed_by: &[("read/get_sees_every_write", clause::READ_1)],
        also: "dropped time fence enq claim race late commit renew lapse retry give budget \
               mode oper held dead purge uniq follow",
        elsewhere: "lanes",
        ..Charge::NONE
    },
    Charge {
        name: "lapsed counts as leased",
        what: "counts go by the stored state",
        sin: || {
            after(|_, _, _, reply| {
                if let Reply::Counted(counts) = reply {
                    let lapsed = counts.tasks.insert(Status::Lapsed, 0).unwrap_or(0);
                    *counts.tasks.entry(Status::Leased).or_default() += lapsed;
                }
            })
        },
        killed_by: &[
            ("model/sequential_histories", clause::READ_2),
            ("read/counts_go_by_status", clause::READ_2),
        ],
        also: "time claim race late renew retry give mode",
        ..Charge::NONE
    },
    Charge {
        name: "reading mends",
        what: "a get of a lapsed task puts it back",
        met: "a repair on read",
        sin: || {
            before(|model, op| {
                let now = model.now;
                if let Op::Get(id) = op
                    && let Some(task) = super::task(model, id)
                    && task.until.is_some_and(|until| until <= now)
                {
                    task.takeovers += 1;
                }
            })
        },
        killed_by: &[("read/reading_changes_nothing", clause::READ_3)],
        also: "time race late commit renew lapse purge uniq replay",
        ..Charge::NONE
    },
    Charge {
        name: "the last of a page again",
        what: "a page begins with the last entry of the page before",
        met: ">= for >",
        sin: || Arc::new(Overlap),
        killed_by: &[("read/pages_tell_each_task_once", clause::READ_4)],
        also: "read dead",
        ..Charge::NONE
    },
    Charge {
        name: "a queue with no task is not listed",
        what: "queues are listed by their tasks",
        met: "SELECT DISTINCT",
        sin: || Arc::new(NoFirstQueue),
        killed_by: &[("read/queues_are_listed_in_pages", clause::READ_4)],
        also: "ctl",
        ..Charge::NONE
    },
    Charge {
        name: "a pause known to its handle",
        what: "other handles go on until they look at the settings again",
        met: "a flag in the process",
        sin: || Arc::new(OwnPause::default()),
        killed_by: &[("ctl/a_pause_stops_every_run", clause::CLAIM_7)],
        also: "ctl late",
        ..Charge::NONE
    },
    Charge {
        name: "settings begin anew",
        what: "what a request does not name is set to its default",
        sin: || {
            before(|model, op| {
                if matches!(op, Op::Configure(_)) {
                    let limits = model.settings.limits.clone();
                    model.settings = QueueSettings::default();
                    model.settings.limits = limits;
                }
            })
        },
        killed_by: &[
            ("model/sequential_histories", clause::CTL_1),
            ("ctl/settings_are_told_whole", clause::CTL_1),
        ],
        also: "ctl",
        ..Charge::NONE
    },
    Charge {
        name: "limits begin anew",
        what: "a number for one group drops the numbers of the others",
        sin: || {
            before(|model, op| {
                if matches!(op, Op::Configure(request) if !request.limits.is_empty()) {
                    model.settings.limits.clear();
                }
            })
        },
        killed_by: &[("ctl/limits_are_told_whole", clause::CTL_1)],
        ..Charge::NONE
    },
    uncounted!(
        stale_commits,
        "stale commits are not counted",
        "obs/stale_commits",
        OBS_1,
        "fence obs race late commit lapse budget mode"
    ),
    uncounted!(lost_renews, "lost renews are not counted", "obs/lost_renews", OBS_1, "renew"),
    uncounted!(
        overdue,
        "overdue commits are not counted",
        "obs/overdue",
        OBS_1,
        "race late renew retry give mode"
    ),
    uncounted!(
        late,
        "late successes are not counted",
        "obs/late_and_replayed",
        OBS_1,
        "race late commit lapse"
    ),
    uncounted!(
        replayed,
        "repeats are not counted",
        "obs/late_and_replayed",
        OBS_1,
        "late commit lapse"
    ),
    uncounted!(
        lapsed,
        "lapses are not counted",
        "obs/lapses_takeovers_and_rescues",
        OBS_1,
        "obs race lapse"
    ),
    uncounted!(
        takeovers,
        "takeovers have no counter",
        "obs/lapses_takeovers_and_rescues",
        OBS_1,
        "lapse"
    ),
    uncounted!(
        rescued,
        "rescues have no counter",
        "obs/lapses_takeovers_and_rescues",
        OBS_1,
        "obs race late commit renew lapse budget"
    ),
    uncounted!(
        buried,
        "burials are not counted",
        "obs/burials",
        OBS_1,
        "claim obs race late commit renew lapse retry budget mode dead"
    ),
    uncounted!(blocked_by_limit, "full keys are not counted", "obs/blocked_by_limit", OBS_1, ""),
    uncounted!(skipped_newer, "newer records are not counted", "obs/skipped_newer", OBS_1, "claim"),
    uncounted!(repaired, "repairs are not counted", "limit/surplus_slot_is_mended", LAPSE_8, ""),
];

/// What each handle's reads have seen.
#[derive(Default)]
struct Cached(Mutex<BTreeMap<String, Found>>);

impl Sin for Cached {
    fn after(&self, _: &Model, next: &mut Model, op: &Op, reply: &mut Reply) {
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Op::Get(id), Reply::Found(found)) = (op, &mut *reply) {
            let key = format!("{} {id}", next.queue);
            *found = cache.entry(key).or_insert_with(|| found.clone()).clone();
        }
        // What took part in a renew or a commit is read anew, as most caches have it.
        if let Op::Commit(item) = op {
            cache.remove(&format!("{} {}", next.queue, item.guard.task.id));
        }
    }
}

struct Overlap;

impl Sin for Overlap {
    fn listed(&self, model: &Model, request: &List, now: Timestamp, page: &mut Page) {
        let after = request.after.as_ref().and_then(|cursor| cursor.as_str().parse::<u64>().ok());
        let last = model.tasks.values().find(|kept| Some(kept.seq) == after);
        if let Some(last) =
            last.filter(|kept| request.max > 1 && request.filter.matches(&kept.task, now))
        {
            page.tasks.insert(0, last.task.clone());
            page.tasks.truncate(request.max);
        }
    }
}

struct NoFirstQueue;

impl Sin for NoFirstQueue {
    fn queues(&self, queues: &mut Vec<QueueInfo>) {
        queues.retain(|info| !info.settings.paused);
    }
}

/// The handle that paused.
#[derive(Default)]
struct OwnPause(Mutex<Option<usize>>);

impl Sin for OwnPause {
    fn before(&self, by: usize, model: &mut Model, op: &mut Op) {
        let mut paused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match op {
            Op::Configure(request) if request.paused.is_some() => {
                *paused = request.paused.filter(|paused| *paused).map(|_| by);
            }
            Op::Claim(_) if paused.is_some_and(|its| its != by) && model.settings.paused => {
                model.settings.paused = false;
                model.settings.limits.insert("was paused".to_owned(), 0);
            }
            _ => {}
        }
    }

    fn after(&self, _: &Model, next: &mut Model, _: &Op, _: &mut Reply) {
        if next.settings.limits.remove("was paused").is_some() {
            next.settings.paused = true;
        }
    }
}
