//! [`Call`]: a step's call as a file writes it.

use std::time::Duration;

use leasehold_core::{
    Budget, Change, Claim, CommitItem, Configure, Edit, Event, Guard, OnLeased, Purpose, RenewItem,
    Role, State, TaskRef, To, When,
};
use serde::{Deserialize, Serialize};

use super::book::{self, Book};
use super::text::{New, unset};
use crate::model::Op;

/// A step's call, as a file writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Call(Verb);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Verb {
    Enqueue {
        tasks: Vec<New>,
    },
    Claim {
        purpose: PurposeText,
        max: usize,
        ttl_ms: u64,
        holder: String,
        #[serde(default, skip_serializing_if = "unset")]
        kinds: Option<Vec<String>>,
        #[serde(default, skip_serializing_if = "unset")]
        claimer: Option<String>,
        #[serde(default, skip_serializing_if = "unset")]
        seq: u64,
    },
    Renew {
        task: String,
        fence: String,
        ttl_ms: u64,
        #[serde(default, skip_serializing_if = "unset")]
        note: Option<String>,
    },
    Commit {
        task: String,
        fence: String,
        decision: String,
        change: ChangeText,
    },
    Get {
        task: String,
    },
    Counts {},
    Configure {
        #[serde(default, skip_serializing_if = "unset")]
        paused: Option<bool>,
        #[serde(default, skip_serializing_if = "unset")]
        limits: Vec<(String, u32)>,
        #[serde(default, skip_serializing_if = "unset")]
        id_memory_ms: Option<u64>,
    },
    Purge {
        max: usize,
    },
    Shift {
        ms: i64,
    },
}

/// Run or Rescue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PurposeText {
    Run,
    Rescue,
}

impl PurposeText {
    pub fn of(purpose: Purpose) -> Self {
        match purpose {
            Purpose::Run => Self::Run,
            Purpose::Rescue => Self::Rescue,
        }
    }

    pub fn purpose(self) -> Purpose {
        match self {
            Self::Run => Purpose::Run,
            Self::Rescue => Purpose::Rescue,
        }
    }
}

/// A change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeText {
    by: String,
    /// A state's name, or `same`, or `gone`.
    to: String,
    /// For Waiting: how long after the commit; left out for a due time that stays.
    #[serde(default, skip_serializing_if = "unset")]
    delay_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "unset")]
    budget: BudgetText,
    event: String,
    #[serde(default, skip_serializing_if = "unset")]
    message: String,
    #[serde(default, skip_serializing_if = "unset")]
    actor: Option<String>,
    #[serde(default, skip_serializing_if = "unset")]
    result: Option<String>,
    #[serde(default, skip_serializing_if = "unset")]
    follow_ups: Vec<New>,
    #[serde(default, skip_serializing_if = "unset")]
    payload: Option<String>,
    #[serde(default, skip_serializing_if = "unset")]
    revoke: bool,
    /// Whether the task's own word is that it stays for ever.
    #[serde(default, skip_serializing_if = "unset")]
    kept: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BudgetText {
    #[default]
    Keep,
    SpendRetry,
    SpendRescue,
    Reset,
}

impl Call {
    /// The call by the names of `book`.
    ///
    /// # Errors
    /// When it is not as the page about the files says, or names a fence that is not bound.
    pub fn op(&self, book: &Book) -> Result<Op, String> {
        let guard = |task: &str, fence: &str| -> Result<Guard, String> {
            Ok(Guard::new(TaskRef::new(book.queue.clone(), task), book.fence(fence)?))
        };
        Ok(match &self.0 {
            Verb::Enqueue { tasks } => Op::Enqueue(tasks.iter().map(New::task).collect()),
            Verb::Claim { purpose, max, ttl_ms, holder, kinds, claimer, seq } => {
                let (purpose, ttl) = (purpose.purpose(), Duration::from_millis(*ttl_ms));
                let mut claim = Claim::new(book.queue.clone(), purpose, *max, ttl, holder);
                claim.kinds.clone_from(kinds);
                Op::Claim(match claimer {
                    Some(name) => claim.with_ticket(book::claimer(name)?, *seq),
                    None => claim,
                })
            }
            Verb::Renew { task, fence, ttl_ms, note } => {
                let ttl = Duration::from_millis(*ttl_ms);
                let item = RenewItem::new(guard(task, fence)?, ttl);
                Op::Renew(match note {
                    Some(note) => item.with_note(note.clone().into_bytes()),
                    None => item,
                })
            }
            Verb::Commit { task, fence, decision, change } => {
                let mut item = CommitItem::new(guard(task, fence)?, change.change()?);
                item.decision = book::decision(decision)?;
                Op::Commit(item)
            }
            Verb::Get { task } => Op::Get(task.clone()),
            Verb::Counts {} => Op::Count,
            Verb::Configure { paused, limits, id_memory_ms } => {
                let mut request = Configure::new(book.queue.clone());
                request.paused = *paused;
                request.limits.clone_from(limits);
                request.id_memory = id_memory_ms.map(Duration::from_millis);
                Op::Configure(request)
            }
            Verb::Purge { max } => Op::Purge(*max),
            Verb::Shift { ms } => Op::Shift(*ms),
        })
    }
}

impl ChangeText {
    fn change(&self) -> Result<Change, String> {
        let unknown = |what: &str| format!("{what:?} is not known");
        let when = self.delay_ms.map(Duration::from_millis).map_or(When::Unchanged, When::After);
        let to = match (self.to.as_str(), State::from_name(&self.to)) {
            ("same", _) => To::Same,
            ("gone", _) => To::Gone,
            (_, Some(State::Waiting)) => To::Waiting(when),
            (_, Some(State::Succeeded)) => To::Succeeded,
            (_, Some(State::Cancelled)) => To::Cancelled,
            (_, Some(State::Dead(reason))) => To::Dead(reason),
            (other, _) => return Err(unknown(other)),
        };
        let by = Role::from_name(&self.by).ok_or_else(|| unknown(&self.by))?;
        let event = Event::from_name(&self.event).ok_or_else(|| unknown(&self.event))?;
        let mut change = Change::new(by, to, event).with_message(&self.message);
        change.budget = match self.budget {
            BudgetText::Keep => Budget::Keep,
            BudgetText::SpendRetry => Budget::SpendRetry,
            BudgetText::SpendRescue => Budget::SpendRescue,
            BudgetText::Reset => Budget::Reset,
        };
        let bytes = |text: &String| text.clone().into_bytes();
        change.actor.clone_from(&self.actor);
        change.result = self.result.as_ref().map(|result| bytes(result).into());
        change.follow_ups = self.follow_ups.iter().map(New::task).collect();
        let payload = self.payload.as_ref();
        change.edit = payload.map(|text| Box::new(Edit::default().with_payload(bytes(text))));
        change.on_leased = if self.revoke { OnLeased::Revoke } else { OnLeased::Refuse };
        change.keep = self.kept.then_some(leasehold_core::Keep::Forever);
        Ok(change)
    }
}
