//! commit: `lua/commit.lua`, a run for each queue.

use leasehold_core::clock::millis;
use leasehold_core::stored::{encode_cause, encode_terms};
use leasehold_core::{
    Applied, Budget, Change, Commit, CommitItem, CommitVerdict, DeadReason, Edit, Error, Event,
    Fence, Found, Headers, Payload, QueueSettings, Role, State, TaskRef, To,
};
use redis::Value;

use super::RedisBackend;
use super::enqueue::{add, text, unset, verdict as entered};
use crate::codec::{
    due, fence, fence_from, keep, letter, letters, rank, role_letter, state, unreadable, when,
};
use crate::error::{Fault, told};
use crate::scripts::{Call, Script};
use crate::split::{Part, Weight, join, split};

/// Items of one run, a follow-up counting a tenth.
const ITEMS_MAX: usize = 100;

impl RedisBackend {
    pub(super) async fn commit_step(
        &self,
        request: Commit,
    ) -> Result<Vec<Result<CommitVerdict, Error>>, Fault> {
        let n = request.items.len();
        let mut items = Vec::with_capacity(n);
        for item in request.items {
            items.push(self.prepared(item).await?);
        }
        let bytes = self.capabilities.bounds.batch_bytes_max;
        let most = Weight { tasks: ITEMS_MAX * 10, bytes };
        let (parts, refused) = split(items, most, |prepared| weight(&prepared.item.change));
        let mut answered = Vec::with_capacity(parts.len());
        for part in parts {
            let (places, replies) = self.commit_part(part).await;
            answered.push((places, replies));
        }
        join("commit", n, refused, answered)
    }

    async fn commit_part(
        &self,
        part: Part<Prepared>,
    ) -> (Vec<usize>, Result<Vec<Result<CommitVerdict, Error>>, Fault>) {
        let Part { queue, places, items } = part;
        let mut call = self.call(Script::Commit, &queue);
        call.number(self.capabilities.bounds.history_max.max(2));
        add_defaults(&mut call);
        call.arg(encode_cause(&plain())).number(items.len());
        let tasks: Vec<(TaskRef, u64)> = items.iter().map(drawn).collect();
        for Prepared { item, terms } in items {
            add_item(&mut call, item, &terms);
        }
        let verdicts = match call.run(&self.link).await {
            Ok(replies) => verdicts(&tasks, &replies),
            Err(fault) => Err(fault),
        };
        (places, verdicts)
    }

    /// The item with its queue, or why it is refused; a fault ends the call before any effect.
    async fn prepared(&self, item: CommitItem) -> Result<Result<(String, Prepared), Error>, Fault> {
        if let Err(error) = item.check(&self.capabilities) {
            return Ok(Err(error));
        }
        let queue = item.guard.task.queue.clone();
        match self.new_terms(&item).await {
            Ok(terms) => Ok(Ok((queue, Prepared { item, terms }))),
            Err(Fault::Told(error)) => Ok(Err(error.with_task(&item.guard.task))),
            Err(fault) => Err(fault),
        }
    }

    /// The terms of a task with an edited policy; empty where none is. Its headers never change,
    /// so that they may be read before: if they are those of another task under the same id,
    /// then the guard is not current any more.
    async fn new_terms(&self, item: &CommitItem) -> Result<String, Fault> {
        let Some(policy) = item.change.edit.as_ref().and_then(|edit| edit.policy) else {
            return Ok(String::new());
        };
        let headers = match self.get_step(&item.guard.task).await? {
            Found::Task(task) => task.headers,
            Found::Left(_) | Found::Nothing => Headers::new(),
        };
        Ok(encode_terms(policy, &headers))
    }
}

/// A decision, and the new terms of a task whose policy it edits.
struct Prepared {
    item: CommitItem,
    terms: String,
}

/// The task, and how many fences the script draws for its item.
fn drawn(Prepared { item, .. }: &Prepared) -> (TaskRef, u64) {
    (item.guard.task.clone(), 1 + item.change.follow_ups.len() as u64)
}

fn weight(change: &Change) -> Weight {
    let payloads = change.follow_ups.iter().map(|new| &new.payload);
    let edited = change.edit.as_ref().and_then(|edit| edit.payload.as_ref());
    let bytes = payloads.chain(&change.result).chain(edited).map(Payload::len).sum();
    Weight { tasks: 10 + change.follow_ups.len(), bytes }
}

/// What counts where the queue has no setting of its own.
fn add_defaults(call: &mut Call) {
    let QueueSettings { retention, id_memory, .. } = QueueSettings::default();
    let states = [
        State::Succeeded,
        State::Cancelled,
        State::Dead(DeadReason::Exhausted),
        State::Dead(DeadReason::Lost),
    ];
    for state in states {
        call.number(retention.of(state).map_or(-1, keep));
    }
    call.number(millis(id_memory));
}

fn add_item(call: &mut Call, item: CommitItem, terms: &str) {
    let CommitItem { guard, decision, change, .. } = item;
    let form = if change == plain() { "p" } else { "g" };
    call.arg(form).arg(&guard.task.id).arg(fence(guard.fence)).number(decision);
    if form == "g" {
        add_change(call, change, terms);
    }
}

/// A worker's success and nothing more, by far the most frequent change.
fn plain() -> Change {
    Change::new(Role::Worker, To::Succeeded, Event::Succeeded)
}

fn add_change(call: &mut Call, change: Change, terms: &str) {
    let is_success = (change.by, change.to) == (Role::Worker, To::Succeeded);
    let admitted = State::ALL.into_iter().filter(|state| change.fits(*state));
    call.arg(role_letter(change.by));
    let (to, due) = match change.to {
        To::Waiting(instant) => ('w', when(instant)),
        To::Same => ('=', String::new()),
        To::Gone => ('x', String::new()),
        To::Succeeded | To::Dead(_) | To::Cancelled => {
            (letter(change.to.state(State::Waiting)), String::new())
        }
    };
    call.number(to).arg(due);
    call.arg(match change.budget {
        Budget::Keep => "k",
        Budget::SpendRetry => "f",
        Budget::SpendRescue => "r",
        Budget::Reset => "0",
    });
    call.number(u8::from(is_success)).number(u8::from(change.is_redrive())).arg(letters(admitted));
    call.arg(change.keep.map(|time| keep(time).to_string()).unwrap_or_default());
    call.arg(encode_cause(&change)).arg(optional(change.result.as_ref()));
    match change.edit {
        None => _ = call.arg("0"),
        Some(edit) => add_edit(call, &edit, terms),
    }
    call.number(change.follow_ups.len());
    for new in change.follow_ups {
        add(call, new);
    }
}

fn add_edit(call: &mut Call, edit: &Edit, terms: &str) {
    call.arg("1").arg(optional(edit.payload.as_ref()));
    call.arg(edit.priority.map(|priority| rank(priority).to_string()).unwrap_or_default());
    call.arg(edit.due.map(due).unwrap_or_default()).arg(terms);
}

/// A value that may be missing, and may be empty when it is not.
fn optional(bytes: Option<&Payload>) -> Vec<u8> {
    bytes.map(|bytes| [b"+", bytes.as_bytes()].concat()).unwrap_or_default()
}

/// What the script answers of each task; it has drawn so many fences for each, in their order.
fn verdicts(
    tasks: &[(TaskRef, u64)],
    replies: &[Value],
) -> Result<Vec<Result<CommitVerdict, Error>>, Fault> {
    let [_now, first, replies @ ..] = replies else { return Err(unreadable("a commit's reply")) };
    let mut next = fence_from(text(first)?).ok_or_else(|| unreadable("a fence"))?.value();
    let verdict = |((task, drawn), reply): (&(TaskRef, u64), &Value)| {
        let new = Fence::new(next);
        next += drawn;
        judge(task, new, reply).map_err(|fault| told("commit", fault).with_task(task))
    };
    Ok(tasks.iter().zip(replies).map(verdict).collect())
}

fn judge(task: &TaskRef, new: Fence, reply: &Value) -> Result<CommitVerdict, Fault> {
    let wrong = || unreadable("a commit's reply");
    let (head, follow_ups) = match reply {
        Value::Array(replies) => replies.split_first().ok_or_else(wrong)?,
        head => (head, &[][..]),
    };
    let head = text(head)?;
    let (word, rest) = head.split_at_checked(1).ok_or_else(wrong)?;
    Ok(match word {
        "A" => {
            let mut applied = Applied::new(new);
            let (overdue, late) = rest.split_at_checked(1).ok_or_else(wrong)?;
            (applied.overdue, applied.late) = (overdue == "1", late == "1");
            let entered = follow_ups.iter().map(|reply| entered(&task.queue, reply));
            applied.follow_ups = entered.collect::<Result<_, _>>()?;
            CommitVerdict::Applied(applied)
        }
        "P" => CommitVerdict::Replayed,
        "G" => CommitVerdict::Gone,
        "C" => CommitVerdict::Conflict(TaskRef::new(&*task.queue, rest)),
        "S" => {
            let state = rest.chars().next().and_then(state);
            let (_, fence) = rest.split_at_checked(1).ok_or_else(wrong)?;
            CommitVerdict::Stale { fence: fence_from(fence).ok_or_else(wrong)?, state }
        }
        "I" => {
            let state = rest.chars().next().and_then(state).ok_or_else(wrong)?;
            let what = format!("a task that is {state} does not admit this change");
            return Err(Error::invalid(what).into());
        }
        "V" => return Err(Error::invalid("a newer Leasehold has written this task").into()),
        "N" => return Err(unset(rest).into()),
        _ => return Err(unreadable("the task's record")),
    })
}
