//! [`History`]: a plan played by one caller, every reply judged by the model's `step`.

mod told;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use leasehold_core::clause::{self, Clause};
use leasehold_core::{
    Backend, BackendExt, Commit, CommitItem, Delivery, Error, ErrorKind, Filter, List, NewTask,
    Queues, Renew, RenewItem, TaskRef, Timestamp,
};

pub(crate) use told::{told_op, told_reply};

use crate::context::{Context, Stop};
use crate::hands::{Call, Hands, PAGE};
use crate::model::{Breach, Model, Op, Reply, step};
use crate::perform;
use crate::plan::{Cmd, IDS};
use crate::scorecard::Reached;

/// How often a history looks at everything, in commands.
const LOOK_EVERY: usize = 50;

/// The handles of a case and the instant of its clock.
pub(crate) struct Stage<'a> {
    cx: &'a Context,
    handles: Vec<Arc<dyn Backend>>,
    turn: usize,
    pub now: Timestamp,
}

impl<'a> Stage<'a> {
    /// Opens so many handles, and reads the clock by a task of another queue.
    pub async fn open(cx: &'a Context, handles: usize) -> Result<Self, Stop> {
        let mut opened = Vec::new();
        for at in 0..handles {
            opened.push(cx.actor(&format!("caller {at}")).await?.backend().clone());
        }
        let probe = NewTask::named("now", "kind", "", Delivery::NotAfterLoss);
        let _ = opened[0].enqueue_one("clock", probe).await?;
        let task = opened[0].task(&TaskRef::new("clock", "now")).await?;
        let now = task.ok_or_else(|| Stop::because("a new task is not there"))?.enqueued_at;
        Ok(Self { cx, handles: opened, turn: 0, now })
    }

    /// Moves the clock.
    pub async fn shift(&mut self, by_ms: i64) -> Result<(), Stop> {
        self.cx.shift(by_ms).await?;
        self.now = Timestamp::from_millis(self.now.as_millis() + by_ms);
        Ok(())
    }

    /// Whatever the store holds that no task explains.
    pub async fn residue(&self) -> Result<Vec<String>, Stop> {
        self.cx.residue().await
    }

    /// Each handle.
    pub fn handles(&self) -> &[Arc<dyn Backend>] {
        &self.handles
    }

    /// The handles in turn, so that what one has written another reads.
    fn handle(&mut self) -> Arc<dyn Backend> {
        self.turn += 1;
        self.handles[self.turn % self.handles.len()].clone()
    }
}

/// A history that broke a clause.
#[derive(Debug)]
pub(crate) struct Broken {
    pub clause: Clause,
    pub what: String,
    pub got: String,
    pub want: String,
}

impl From<Box<Breach>> for Broken {
    fn from(breach: Box<Breach>) -> Self {
        let Breach { clause, what, got, want } = *breach;
        Self { clause, what, got, want }
    }
}

/// What goes wrong on the way: the store's fault, or one that ends the case.
pub(crate) enum Ended {
    Broken(Box<Broken>),
    Stopped(Stop),
}

impl<E: Into<Stop>> From<E> for Ended {
    fn from(stop: E) -> Self {
        Self::Stopped(stop.into())
    }
}

fn broken(clause: Clause, what: &str, got: String, want: String) -> Ended {
    Ended::Broken(Box::new(Broken { clause, what: what.to_owned(), got, want }))
}

/// One queue on its way.
pub(crate) struct History {
    pub model: Model,
    pub hands: Hands,
    /// Each step so far with its reply, as people read it.
    pub steps: Vec<String>,
    pub reached: Reached,
    /// What other queues have left in the store; `None` when nobody looks for it.
    pub residue: Option<Vec<String>>,
}

impl History {
    /// An empty queue of this name.
    pub fn new(stage: &Stage<'_>, queue: &str, claimers: usize) -> Self {
        let model = Model::new(queue, stage.handles[0].capabilities(), stage.now);
        let (steps, reached) = (Vec::new(), Reached::default());
        let hands = Hands::new(queue, claimers);
        Self { model, hands, steps, reached, residue: Some(Vec::new()) }
    }

    /// Plays the commands one after the other.
    pub async fn play(&mut self, stage: &mut Stage<'_>, cmds: &[Cmd]) -> Result<(), Ended> {
        for (at, cmd) in cmds.iter().enumerate() {
            if let Some(call) = self.hands.call(cmd, stage.now) {
                self.call(stage, call).await?;
            }
            if at % LOOK_EVERY == LOOK_EVERY - 1 {
                self.look(stage).await?;
            }
        }
        Ok(())
    }

    /// The last look: everything that can be read, and the store's own order.
    pub async fn end(&mut self, stage: &mut Stage<'_>) -> Result<(), Ended> {
        self.look(stage).await?;
        self.settings(stage).await?;
        // What has ended goes, or a clock that later goes back would revive it as residue.
        self.call(stage, Call::One(Op::Purge(100))).await?;
        self.look(stage).await
    }

    async fn look(&mut self, stage: &mut Stage<'_>) -> Result<(), Ended> {
        let ids = IDS.map(|id| Op::Get(id.to_owned()));
        for op in ids.into_iter().chain([Op::Count]) {
            self.call(stage, Call::One(op)).await?;
            // A look that shows nothing wrong is no part of the story.
            self.steps.pop();
        }
        let list = List::new(self.model.queue.clone(), Filter::all(), PAGE);
        self.call(stage, Call::List(list)).await?;
        let Some(known) = &self.residue else { return Ok(()) };
        let mut residue = stage.residue().await?;
        residue.retain(|line| !known.contains(line));
        match residue.is_empty() {
            true => Ok(()),
            false => {
                let want = "nothing that no task explains".to_owned();
                Err(broken(clause::LAPSE_8, "what is left in the store", residue.join("\n"), want))
            }
        }
    }

    async fn call(&mut self, stage: &mut Stage<'_>, call: Call) -> Result<(), Ended> {
        let backend = stage.handle();
        match call {
            Call::One(op) => {
                if let Op::Shift(by_ms) = op {
                    stage.shift(by_ms).await?;
                }
                let queue = self.model.queue.clone();
                let reply = perform(backend.as_ref(), &queue, &op).await?;
                self.judge(&[op], &[reply])
            }
            Call::Renews(items) => {
                let replies = renew_all(backend.as_ref(), &items).await?;
                let tasks = items.iter().map(|item| &item.guard.task);
                self.judge_batch(distinct(tasks), items.iter().cloned().map(Op::Renew), replies)
            }
            Call::Commits(items) => {
                let replies = commit_all(backend.as_ref(), &items).await?;
                let tasks = items.iter().map(|item| &item.guard.task);
                self.judge_batch(distinct(tasks), items.iter().cloned().map(Op::Commit), replies)
            }
            Call::List(list) => self.list(backend.as_ref(), list).await,
        }
    }

    /// A call that names a task twice is Invalid as a whole (LH-COMMIT-11). Else each item is
    /// a step, and no order is promised between them: any that explains the replies will do.
    fn judge_batch(
        &mut self,
        distinct: bool,
        ops: impl Iterator<Item = Op>,
        replies: Result<Vec<Reply>, Reply>,
    ) -> Result<(), Ended> {
        let ops: Vec<_> = ops.collect();
        match (distinct, replies) {
            (false, Err(Reply::Refused(ErrorKind::Invalid))) => Ok(()),
            (true, Ok(replies)) if replies.len() == ops.len() => self.judge(&ops, &replies),
            (true, Ok(replies)) => {
                let (got, want) = (replies.len().to_string(), ops.len().to_string());
                Err(broken(clause::GEN_2, "the number of replies", got, want))
            }
            (_, replies) => {
                let want = if distinct { "a reply for each item" } else { "Invalid as a whole" };
                let (got, want) = (format!("{replies:?}"), want.to_owned());
                Err(broken(clause::COMMIT_11, "the answer to a batch", got, want))
            }
        }
    }

    fn judge(&mut self, ops: &[Op], replies: &[Reply]) -> Result<(), Ended> {
        for (op, reply) in ops.iter().zip(replies) {
            let at = self.steps.len() + 1;
            self.steps.push(format!("{at:>3}. {} -> {}", told_op(op), told_reply(reply)));
            self.hands.heard(reply);
        }
        let mut first = None;
        for order in orders(ops.len()) {
            match self.judge_in(&order, ops, replies) {
                Ok(()) => return Ok(()),
                Err(breach) => _ = first.get_or_insert(breach),
            }
        }
        let breach = first.ok_or_else(|| Stop::because("a batch without an order"))?;
        Err(Ended::Broken(Box::new(breach.into())))
    }

    fn judge_in(
        &mut self,
        order: &[usize],
        ops: &[Op],
        replies: &[Reply],
    ) -> Result<(), Box<Breach>> {
        let (mut last, mut reached) = (None, Reached::default());
        for &at in order {
            let before = last.as_ref().unwrap_or(&self.model);
            let mut next = step(before, &ops[at], &replies[at])?;
            reached.note(before, &next, &ops[at], &replies[at]);
            // No step reads them, and every later one would copy them.
            next.grants.clear();
            last = Some(next);
        }
        self.model = last.unwrap_or_else(|| self.model.clone());
        self.reached.add(&reached);
        Ok(())
    }

    /// Walks a list and compares it with the tasks that match, in the order of enqueue.
    async fn list(&mut self, backend: &dyn Backend, list: List) -> Result<(), Ended> {
        let (mut request, mut got) = (list.clone(), Vec::new());
        // A page may be short, but one without an entry and with a cursor leads nowhere.
        for _ in 0..=IDS.len() {
            let page = backend.list(request.clone()).await?;
            got.extend(page.tasks);
            match page.next {
                Some(next) => request = list.clone().after(next),
                None => break,
            }
        }
        let tasks = self.model.tasks.values();
        let matching = tasks.filter(|kept| list.filter.matches(&kept.task, self.model.now));
        let by_seq: BTreeMap<_, _> = matching.map(|kept| (kept.seq, kept.task.clone())).collect();
        let want: Vec<_> = by_seq.into_values().collect();
        if got == want {
            return Ok(());
        }
        let what = format!("the list of {:?}", list.filter);
        Err(broken(clause::READ_4, &what, format!("{got:?}"), format!("{want:?}")))
    }

    /// Looks the queue up among all queues: its settings are the model's.
    async fn settings(&mut self, stage: &mut Stage<'_>) -> Result<(), Ended> {
        let backend = stage.handle();
        let mut request = Queues::new(100);
        let mut found = None;
        for _ in 0..100 {
            let page = backend.queues(request.clone()).await?;
            found = page.queues.into_iter().find(|info| info.name == self.model.queue).or(found);
            match page.next {
                Some(next) => request = Queues::new(100).after(next),
                None => break,
            }
        }
        let got = found.map(|info| info.settings);
        // A queue that a shorter plan never touched is none.
        if got.as_ref().is_none_or(|got| *got == self.model.settings) {
            return Ok(());
        }
        let want = format!("{:?}", self.model.settings);
        Err(broken(clause::CTL_1, "the settings among all queues", format!("{got:?}"), want))
    }
}

fn distinct<'a>(tasks: impl Iterator<Item = &'a TaskRef>) -> bool {
    let mut seen = BTreeSet::new();
    let mut tasks = tasks;
    tasks.all(|task| seen.insert(task))
}

/// Every order of so many items, the given one first.
fn orders(items: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for _ in 0..items {
        let longer = orders.into_iter().flat_map(|order: Vec<usize>| {
            let rest: Vec<_> = (0..items).filter(|item| !order.contains(item)).collect();
            rest.into_iter().map(move |item| [&order[..], &[item]].concat())
        });
        orders = longer.collect();
    }
    orders
}

async fn renew_all(
    backend: &dyn Backend,
    items: &[RenewItem],
) -> Result<Result<Vec<Reply>, Reply>, Error> {
    let verdicts = match backend.renew(Renew::new(items.to_vec())).await {
        Ok(verdicts) => verdicts,
        Err(error) => return refused(error).map(Err),
    };
    let replies = verdicts.into_iter().map(|verdict| match verdict {
        Ok(verdict) => Ok(Reply::Renewed(verdict)),
        Err(error) => refused(error),
    });
    replies.collect::<Result<_, _>>().map(Ok)
}

async fn commit_all(
    backend: &dyn Backend,
    items: &[CommitItem],
) -> Result<Result<Vec<Reply>, Reply>, Error> {
    let verdicts = match backend.commit(Commit::new(items.to_vec())).await {
        Ok(verdicts) => verdicts,
        Err(error) => return refused(error).map(Err),
    };
    let replies = verdicts.into_iter().map(|verdict| match verdict {
        Ok(verdict) => Ok(Reply::Committed(verdict)),
        Err(error) => refused(error),
    });
    replies.collect::<Result<_, _>>().map(Ok)
}

/// A refusal is a reply.
fn refused(error: Error) -> Result<Reply, Error> {
    match error.kind() {
        kind @ (ErrorKind::Invalid | ErrorKind::Unsupported) => Ok(Reply::Refused(kind)),
        _ => Err(error),
    }
}
