//! The read verbs of one queue: `lua/get.lua`, `lua/list.lua`, `lua/counts.lua`.

use leasehold_core::{
    Count, Counts, Cursor, Events, Filter, Found, List, Page, State, Status, TaskRef, Timestamp,
};
use redis::Value;

use super::RedisBackend;
use super::enqueue::text;
use crate::codec::{left, letters, unreadable, whole};
use crate::error::Fault;
use crate::scripts::Script;

impl RedisBackend {
    pub(super) async fn get_step(&self, task: &TaskRef) -> Result<Found, Fault> {
        let mut call = self.call(Script::Get, &task.queue);
        call.arg(&task.id);
        let reply = call.run(&self.link).await?;
        match &reply[..] {
            [] => Ok(Found::Nothing),
            [Value::BulkString(remembered)] => Ok(Found::Left(left(remembered)?)),
            _ => Ok(Found::Task(Box::new(whole(&task.queue, &Value::Array(reply))?))),
        }
    }

    pub(super) async fn list_step(&self, request: &List) -> Result<Page, Fault> {
        let mut call = self.call(Script::List, &request.queue);
        call.arg(request.after.as_ref().map_or("", Cursor::as_str)).number(request.max);
        call.arg(letters(states(&request.filter)));
        call.arg(request.filter.kind.as_deref().unwrap_or_default());
        call.number(self.capabilities.bounds.batch_bytes_max);
        let reply = call.run(&self.link).await?;
        let [now, next, tasks @ ..] = &reply[..] else { return Err(unreadable("a page")) };
        let now = Timestamp::from_millis(text(now)?.parse().map_err(|_| unreadable("now"))?);
        let next = Some(text(next)?).filter(|next| !next.is_empty()).map(Cursor::new);
        let tasks = tasks.iter().map(|task| whole(&request.queue, task));
        let mut tasks = tasks.collect::<Result<Vec<_>, _>>()?;
        tasks.retain(|task| request.filter.matches(task, now));
        Ok(Page::new(tasks, next))
    }

    pub(super) async fn counts_step(&self, request: &Count) -> Result<Counts, Fault> {
        let reply = self.call(Script::Counts, &request.queue).run(&self.link).await?;
        let wrong = || unreadable("the counts");
        let (tasks, counters) = reply.split_at_checked(ORDER.len()).ok_or_else(wrong)?;
        let mut events = Events::default();
        for pair in counters.chunks(2) {
            let [name, value] = pair else { return Err(wrong()) };
            // A counter that a newer build keeps is none of ours.
            if let Some(event) = events.by_name(text(name)?) {
                *event = text(value)?.parse().map_err(|_| wrong())?;
            }
        }
        let mut counts = Counts::new(events);
        for (status, value) in ORDER.into_iter().zip(tasks) {
            let Value::Int(n) = value else { return Err(wrong()) };
            counts.tasks.insert(status, n.unsigned_abs());
        }
        Ok(counts)
    }
}

/// The order in which `lua/counts.lua` answers.
const ORDER: [Status; 7] = [
    Status::Ready,
    Status::Scheduled,
    Status::Leased,
    Status::Lapsed,
    Status::Succeeded,
    Status::Dead,
    Status::Cancelled,
];

/// The states of the tasks that a filter may admit.
fn states(filter: &Filter) -> impl Iterator<Item = State> {
    let fits = |state: &State| {
        let by_reason = filter.reason.is_none_or(|reason| *state == State::Dead(reason));
        let by_time = filter.finished_from.is_none() && filter.finished_before.is_none();
        let by_status = match filter.status {
            None => true,
            Some(Status::Ready | Status::Scheduled) => *state == State::Waiting,
            Some(Status::Leased | Status::Lapsed) => matches!(state, State::Leased(_)),
            Some(Status::Succeeded) => *state == State::Succeeded,
            Some(Status::Dead) => matches!(state, State::Dead(_)),
            Some(Status::Cancelled) => *state == State::Cancelled,
        };
        by_reason && by_status && (by_time || state.is_finished())
    };
    State::ALL.into_iter().filter(fits).collect::<Vec<_>>().into_iter()
}
