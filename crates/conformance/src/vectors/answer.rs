//! [`Answer`]: what a store says to a call, as a file writes it.

use std::collections::BTreeMap;
use std::time::Duration;

use leasehold_core::{
    Applied, Claimed, CommitVerdict, Counts, DuplicateCause, EnqueueVerdict, ErrorKind, Events,
    Fence, Found, Left, LostReason, QueueSettings, RenewVerdict, Status, TaskRef,
};
use serde::{Deserialize, Serialize};

use super::book::{Book, name};
use super::text::unset;
use super::told::{LeaseText, Read, ShownText, TaskText, ms, read, state_of};
use crate::model::Reply;

/// An answer, as a file writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Answer(Text);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Text {
    Enqueued(Vec<EnqueuedText>),
    Claimed {
        leases: Vec<LeaseText>,
        more: bool,
        #[serde(default, skip_serializing_if = "unset")]
        superseded: bool,
    },
    Held {
        ttl_left_ms: u64,
    },
    /// `lapsed`, `cancelled`, `revoked`, `decided` or `gone`, or `taken` with the fence of now.
    Lost {
        reason: String,
        #[serde(default, skip_serializing_if = "unset")]
        fence: Option<String>,
    },
    Applied {
        fence: String,
        #[serde(default, skip_serializing_if = "unset")]
        overdue: bool,
        #[serde(default, skip_serializing_if = "unset")]
        late: bool,
        #[serde(default, skip_serializing_if = "unset")]
        follow_ups: Vec<EnqueuedText>,
    },
    Replayed,
    /// The state is left out for a task that has left.
    Stale {
        fence: String,
        #[serde(default, skip_serializing_if = "unset")]
        state: Option<String>,
    },
    Conflict {
        task: String,
    },
    Gone,
    Task(Box<TaskText>),
    Left {
        shown: ShownText,
        state: String,
    },
    Nothing,
    Counts {
        tasks: BTreeMap<String, u64>,
        #[serde(default, skip_serializing_if = "unset")]
        events: BTreeMap<String, u64>,
    },
    Settings {
        paused: bool,
        limits: BTreeMap<String, u32>,
        id_memory_ms: u64,
    },
    Purged(usize),
    Shifted,
    /// `invalid` or `unsupported`.
    Refused(String),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum EnqueuedText {
    New {
        fence: String,
    },
    Duplicate {
        cause: CauseText,
        task: String,
        #[serde(default, skip_serializing_if = "unset")]
        state: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum CauseText {
    Id,
    Key,
}

impl Answer {
    /// The answer by the names of `book`.
    ///
    /// # Errors
    /// When it is not as the page about the files says.
    pub fn reply(&self, book: &Book) -> Read<Reply> {
        use CommitVerdict::{Conflict, Gone, Replayed, Stale};
        Ok(match &self.0 {
            Text::Enqueued(all) => Reply::Enqueued(read(all, |one| one.verdict(book))?),
            Text::Claimed { leases, more, superseded } => {
                let leases = read(leases, |lease| lease.lease(book))?;
                let mut claimed = Claimed::new(leases, *more);
                claimed.superseded = *superseded;
                Reply::Claimed(claimed)
            }
            Text::Held { ttl_left_ms } => {
                let ttl_left = Duration::from_millis(*ttl_left_ms);
                Reply::Renewed(RenewVerdict::Held { ttl_left })
            }
            Text::Lost { reason, fence } => {
                Reply::Renewed(RenewVerdict::Lost(lost(reason, fence.as_deref(), book)?))
            }
            Text::Applied { fence, overdue, late, follow_ups } => {
                let mut applied = Applied::new(book.fence(fence)?);
                (applied.overdue, applied.late) = (*overdue, *late);
                applied.follow_ups = read(follow_ups, |one| one.verdict(book))?;
                Reply::Committed(CommitVerdict::Applied(applied))
            }
            Text::Replayed => Reply::Committed(Replayed),
            Text::Stale { fence, state } => {
                let state = state.as_deref().map(state_of).transpose()?;
                Reply::Committed(Stale { fence: book.fence(fence)?, state })
            }
            Text::Conflict { task } => {
                Reply::Committed(Conflict(TaskRef::new(book.queue.clone(), task)))
            }
            Text::Gone => Reply::Committed(Gone),
            Text::Task(task) => Reply::Found(Found::Task(Box::new(task.task(book)?))),
            Text::Left { shown, state } => {
                Reply::Found(Found::Left(Left::new(shown.shown(book)?, state_of(state)?)))
            }
            Text::Nothing => Reply::Found(Found::Nothing),
            Text::Counts { tasks, events } => Reply::Counted(counts(tasks, events)?),
            Text::Settings { paused, limits, id_memory_ms } => {
                let mut settings = QueueSettings::default();
                (settings.paused, settings.limits) = (*paused, limits.clone());
                settings.id_memory = Duration::from_millis(*id_memory_ms);
                Reply::Configured(settings)
            }
            Text::Purged(count) => Reply::Purged(*count),
            Text::Shifted => Reply::Shifted,
            Text::Refused(kind) => Reply::Refused(match kind.as_str() {
                "invalid" => ErrorKind::Invalid,
                "unsupported" => ErrorKind::Unsupported,
                other => return Err(format!("{other:?} is no refusal")),
            }),
        })
    }

    /// How a file writes `reply`, whose fences are those of a plain book.
    ///
    /// # Errors
    /// When no file can write it.
    pub fn of(reply: &Reply, book: &Book) -> Read<Self> {
        Ok(Self(match reply {
            Reply::Enqueued(all) => Text::Enqueued(all.iter().map(EnqueuedText::of).collect()),
            Reply::Claimed(claimed) => Text::Claimed {
                leases: claimed.leases.iter().map(|lease| LeaseText::of(lease, book)).collect(),
                more: claimed.more,
                superseded: claimed.superseded,
            },
            Reply::Renewed(RenewVerdict::Held { ttl_left }) => {
                Text::Held { ttl_left_ms: ms(*ttl_left) }
            }
            Reply::Renewed(RenewVerdict::Lost(reason)) => {
                let (reason, fence) = lost_text(*reason);
                Text::Lost { reason: reason.to_owned(), fence: fence.map(name) }
            }
            Reply::Committed(verdict) => committed_text(verdict),
            Reply::Found(Found::Task(task)) => Text::Task(Box::new(TaskText::of(task, book))),
            Reply::Found(Found::Left(left)) => Text::Left {
                shown: ShownText::of(left.shown),
                state: left.state.as_str().to_owned(),
            },
            Reply::Found(Found::Nothing) => Text::Nothing,
            Reply::Counted(counted) => counts_text(counted),
            Reply::Configured(settings) => Text::Settings {
                paused: settings.paused,
                limits: settings.limits.clone(),
                id_memory_ms: ms(settings.id_memory),
            },
            Reply::Purged(count) => Text::Purged(*count),
            Reply::Shifted => Text::Shifted,
            Reply::Refused(ErrorKind::Unsupported) => Text::Refused("unsupported".to_owned()),
            Reply::Refused(ErrorKind::Invalid) => Text::Refused("invalid".to_owned()),
            other => return Err(format!("no file writes {other:?}")),
        }))
    }
}

fn lost(reason: &str, fence: Option<&str>, book: &Book) -> Read<LostReason> {
    Ok(match (reason, fence) {
        ("lapsed", None) => LostReason::Lapsed,
        ("taken", Some(fence)) => LostReason::Taken(book.fence(fence)?),
        ("cancelled", None) => LostReason::Cancelled,
        ("revoked", None) => LostReason::Revoked,
        ("decided", None) => LostReason::Decided,
        ("gone", None) => LostReason::Gone,
        (other, _) => return Err(format!("{other:?} is no reason")),
    })
}

fn lost_text(reason: LostReason) -> (&'static str, Option<Fence>) {
    match reason {
        LostReason::Lapsed => ("lapsed", None),
        LostReason::Taken(fence) => ("taken", Some(fence)),
        LostReason::Cancelled => ("cancelled", None),
        LostReason::Revoked => ("revoked", None),
        LostReason::Decided => ("decided", None),
        LostReason::Gone => ("gone", None),
    }
}

fn committed_text(verdict: &CommitVerdict) -> Text {
    match verdict {
        CommitVerdict::Applied(applied) => Text::Applied {
            fence: name(applied.fence),
            overdue: applied.overdue,
            late: applied.late,
            follow_ups: applied.follow_ups.iter().map(EnqueuedText::of).collect(),
        },
        CommitVerdict::Replayed => Text::Replayed,
        CommitVerdict::Stale { fence, state } => {
            Text::Stale { fence: name(*fence), state: state.map(|state| state.as_str().to_owned()) }
        }
        CommitVerdict::Conflict(task) => Text::Conflict { task: task.id.clone() },
        CommitVerdict::Gone => Text::Gone,
    }
}

fn counts(tasks: &BTreeMap<String, u64>, events: &BTreeMap<String, u64>) -> Read<Counts> {
    let mut all = Events::default();
    for (event, count) in events {
        let known = all.by_name(event).ok_or_else(|| format!("{event:?} is no counter"))?;
        *known = *count;
    }
    let mut counts = Counts::new(all);
    for (status, count) in tasks {
        let known = Status::from_name(status).ok_or_else(|| format!("{status:?} is no status"))?;
        counts.tasks.insert(known, *count);
    }
    Ok(counts)
}

fn counts_text(counts: &Counts) -> Text {
    let mut events = counts.events;
    let names = Events::NAMES.iter();
    let told = names.map(|name| (*name, events.by_name(name).map_or(0, |count| *count)));
    let events: Vec<_> = told.collect();
    let set = |(_, count): &(String, u64)| *count > 0;
    let tasks = counts.tasks.iter().map(|(status, count)| (status.as_str().to_owned(), *count));
    let events = events.into_iter().map(|(name, count)| (name.to_owned(), count));
    Text::Counts { tasks: tasks.filter(set).collect(), events: events.filter(set).collect() }
}

impl EnqueuedText {
    fn verdict(&self, book: &Book) -> Read<EnqueueVerdict> {
        Ok(match self {
            Self::New { fence } => EnqueueVerdict::Enqueued { fence: book.fence(fence)? },
            Self::Duplicate { cause, task, state } => EnqueueVerdict::Duplicate {
                cause: match cause {
                    CauseText::Id => DuplicateCause::Id,
                    CauseText::Key => DuplicateCause::Key,
                },
                holder: TaskRef::new(book.queue.clone(), task),
                state: state.as_deref().map(state_of).transpose()?,
            },
        })
    }

    fn of(verdict: &EnqueueVerdict) -> Self {
        match verdict {
            EnqueueVerdict::Enqueued { fence } => Self::New { fence: name(*fence) },
            EnqueueVerdict::Duplicate { cause, holder, state } => Self::Duplicate {
                cause: match cause {
                    DuplicateCause::Id => CauseText::Id,
                    DuplicateCause::Key => CauseText::Key,
                },
                task: holder.id.clone(),
                state: state.map(|state| state.as_str().to_owned()),
            },
        }
    }
}
