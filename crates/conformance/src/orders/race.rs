//! [`Race`]: actors whose steps are played in every order, each order in a queue of its own, and
//! every answer judged by the model.

use std::collections::BTreeSet;

use leasehold_core::clause::Clause;
use leasehold_core::{
    CommitVerdict, Configure, LostReason, NewTask, Purpose, RenewVerdict, State, Timestamp,
};

use super::interleaving::{count, interleavings};
use super::script::{Hands, Script};
use crate::actor::Actor;
use crate::context::{Context, Stop};
use crate::model::{Breach, Model, Op, Reply, step};
use crate::perform::perform;

/// Faults after which a case says no more: the first ones tell enough.
const FAULTS_MAX: usize = 3;

/// Tasks, a beginning that is always the same, and scripts that are played in every order.
#[derive(Debug, Clone)]
pub(crate) struct Race {
    /// What is being decided, such as the name of an ending.
    pub what: String,
    /// Whether it is a success or a failure, of which every order is played on every store.
    pub common: bool,
    /// The number of the limit group `group`, if the race is about one.
    pub limit: Option<u32>,
    /// Enqueued before, in this order.
    pub tasks: Vec<NewTask>,
    /// Whose turns come before the race, each as often as it stands here.
    pub prefix: Vec<usize>,
    /// The actors; those of the prefix begin the race after their first steps.
    pub scripts: Vec<Script>,
}

/// What a race has to meet, or it proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Met {
    /// A commit was applied.
    Applied,
    /// A commit was applied after its lease had passed.
    Overdue,
    /// A success was applied after a rescue claim had come.
    Late,
    /// A commit was refused.
    Stale,
    /// A commit had been applied before.
    Replayed,
    /// A redrive met another holder of its key.
    Conflict,
    /// A lapsed lease was claimed.
    Rescued,
    /// A lapsed rescue was claimed by the next rescuer.
    TakenOver,
    /// A lease went on.
    Held,
    /// A renew came after the lease's end.
    Lapsed,
    /// A renew came after somebody's claim, decision or act.
    Lost,
    /// A claim to run brought nothing.
    Nothing,
    /// A second enqueue was a Duplicate.
    Duplicate,
}

/// What all races of a case have played and met.
#[derive(Debug, Default)]
pub(crate) struct Played {
    pub orders: usize,
    pub calls: usize,
    pub kinds: usize,
    pub met: BTreeSet<Met>,
    faults: usize,
}

impl Played {
    /// Tells the numbers, and that each clause was looked at whose occasion came.
    ///
    /// # Errors
    /// Vacuous when an occasion never came: what was played proves nothing of its clause.
    pub fn finish(&self, cx: &mut Context, occasions: &[(Clause, Met)]) -> Result<(), Stop> {
        let Self { orders, calls, kinds, .. } = self;
        println!("{orders} orders of {kinds} kinds of change, {calls} calls");
        for (clause, met) in occasions {
            if self.faults == 0 && !self.met.contains(met) {
                let why = format!("{met:?} never came in {orders} orders, for {}", clause.id);
                return Err(Stop::vacuous(why));
            }
            cx.check_that(*clause, "every order", true, ());
        }
        Ok(())
    }
}

/// A store's handle, one for each actor, and the clock.
pub(crate) struct Stage {
    actors: Vec<Actor>,
    now: Timestamp,
    queues: usize,
}

impl Stage {
    pub async fn open(cx: &Context, actors: usize) -> Result<Self, Stop> {
        let mut handles = Vec::new();
        for number in 0..actors {
            handles.push(cx.actor(&format!("actor {number}")).await?);
        }
        let probe = cx.actor("clock").await?.on("clock");
        probe.enqueue(Actor::task("clock")).await?;
        let now = probe.get("clock").await?.enqueued_at;
        Ok(Self { actors: handles, now, queues: 0 })
    }

    /// Plays the race in as many orders as the settings ask for.
    pub async fn play(
        &mut self,
        cx: &mut Context,
        race: &Race,
        played: &mut Played,
    ) -> Result<(), Stop> {
        let mut lengths: Vec<_> = race.scripts.iter().map(|script| script.steps.len()).collect();
        for who in &race.prefix {
            lengths[*who] -= 1;
        }
        let orders = cx.orders().of(count(&lengths), race.common);
        played.kinds += 1;
        for (number, order) in interleavings(&lengths, orders, cx.seed()).iter().enumerate() {
            if played.faults >= FAULTS_MAX {
                return Ok(());
            }
            played.orders += 1;
            cx.note(format!("order {number} of {}", race.what));
            let turns: Vec<_> = race.prefix.iter().chain(order).copied().collect();
            let mut game = self.begin(race);
            if let Err(breach) = game.play(cx, self, race, &turns, played).await? {
                played.faults += 1;
                let what = format!("{}, order {number}: {}", race.what, breach.what);
                cx.breach(&Breach { what, ..*breach }, &game.lines);
            }
        }
        Ok(())
    }

    fn begin(&mut self, race: &Race) -> Game {
        self.queues += 1;
        let queue = format!("order {}", self.queues);
        let capabilities = self.actors[0].backend().capabilities();
        Game {
            model: Model::new(queue, capabilities, self.now),
            hands: vec![Hands::default(); race.scripts.len()],
            lines: Vec::new(),
        }
    }
}

/// One order of a race on its way.
struct Game {
    model: Model,
    hands: Vec<Hands>,
    lines: Vec<String>,
}

type Judged = Result<(), Box<Breach>>;

impl Game {
    async fn play(
        &mut self,
        cx: &Context,
        stage: &mut Stage,
        race: &Race,
        turns: &[usize],
        played: &mut Played,
    ) -> Result<Judged, Stop> {
        let queue = self.model.queue.clone();
        let limit = race.limit.map(|max| Configure::new(&queue).with_limit("group", max));
        let limit = limit.map(Op::Configure);
        let tasks = (!race.tasks.is_empty()).then(|| Op::Enqueue(race.tasks.clone()));
        for op in limit.into_iter().chain(tasks) {
            if let Err(breach) = self.call(cx, stage, 0, "before", &op, played).await? {
                return Ok(Err(breach));
            }
        }
        let mut next = vec![0; race.scripts.len()];
        for who in turns {
            let script = &race.scripts[*who];
            let step = &script.steps[next[*who]];
            next[*who] += 1;
            let Some(op) = self.hands[*who].call(step, script.name, &queue) else { continue };
            if let Err(breach) = self.call(cx, stage, *who, script.name, &op, played).await? {
                return Ok(Err(breach));
            }
        }
        for op in race.tasks.iter().map(|new| Op::Get(new.id.clone())).chain([Op::Count]) {
            if let Err(breach) = self.call(cx, stage, 0, "after", &op, played).await? {
                return Ok(Err(breach));
            }
        }
        Ok(Ok(()))
    }

    /// Makes one call and judges the answer; after a commit the task as well.
    async fn call(
        &mut self,
        cx: &Context,
        stage: &mut Stage,
        who: usize,
        name: &str,
        op: &Op,
        played: &mut Played,
    ) -> Result<Judged, Stop> {
        if let Op::Shift(by_ms) = op {
            cx.shift(*by_ms).await?;
            stage.now = Timestamp::from_millis(stage.now.as_millis() + by_ms);
        }
        let backend = stage.actors[who].backend();
        let reply = perform(backend.as_ref(), &self.model.queue, op).await?;
        played.calls += 1;
        if let Some(met) = met(op, &reply, &self.model) {
            played.met.insert(met);
        }
        self.lines.push(format!("{name}: {} -> {}", told(op), answer(&reply)));
        match step(&self.model, op, &reply) {
            Ok(model) => self.model = model,
            Err(breach) => return Ok(Err(breach)),
        }
        self.hands[who].learn(&reply);
        let Op::Commit(item) = op else { return Ok(Ok(())) };
        let look = Op::Get(item.guard.task.id.clone());
        let found = perform(backend.as_ref(), &self.model.queue, &look).await?;
        Ok(step(&self.model, &look, &found).map(|model| self.model = model))
    }
}

fn met(op: &Op, reply: &Reply, before: &Model) -> Option<Met> {
    Some(match reply {
        Reply::Committed(CommitVerdict::Applied(applied)) if applied.late => Met::Late,
        Reply::Committed(CommitVerdict::Applied(applied)) if applied.overdue => Met::Overdue,
        Reply::Committed(CommitVerdict::Applied(_)) => Met::Applied,
        Reply::Committed(CommitVerdict::Stale { .. }) => Met::Stale,
        Reply::Committed(CommitVerdict::Replayed) => Met::Replayed,
        Reply::Committed(CommitVerdict::Conflict(_)) => Met::Conflict,
        Reply::Renewed(RenewVerdict::Held { .. }) => Met::Held,
        Reply::Renewed(RenewVerdict::Lost(LostReason::Lapsed)) => Met::Lapsed,
        Reply::Renewed(RenewVerdict::Lost(_)) => Met::Lost,
        Reply::Claimed(claimed) => match (claimed.leases.first(), op) {
            (None, Op::Claim(claim)) if claim.purpose == Purpose::Run => Met::Nothing,
            (Some(lease), _) if lease.purpose == Purpose::Rescue => {
                let state = before.task(&lease.task_ref.id).map(|task| task.state);
                match state {
                    Some(State::Leased(Purpose::Rescue)) => Met::TakenOver,
                    _ => Met::Rescued,
                }
            }
            _ => return None,
        },
        Reply::Enqueued(verdicts) => {
            let enqueued = |verdict: &leasehold_core::EnqueueVerdict| {
                matches!(verdict, leasehold_core::EnqueueVerdict::Enqueued { .. })
            };
            return verdicts.iter().any(|verdict| !enqueued(verdict)).then_some(Met::Duplicate);
        }
        _ => return None,
    })
}

/// The call in a few words.
fn told(op: &Op) -> String {
    match op {
        Op::Claim(claim) => format!("claim {:?}", claim.purpose),
        Op::Renew(item) => format!("renew {} at {}", item.guard.task.id, item.guard.fence),
        Op::Commit(item) => {
            let (by, guard) = (item.change.by, &item.guard);
            format!(
                "commit {:?} of {} by the {by} at {}",
                item.change.to, guard.task.id, guard.fence
            )
        }
        Op::Get(id) => format!("get {id}"),
        Op::Shift(by_ms) => format!("the clock moves by {by_ms} ms"),
        other => other.name().to_owned(),
    }
}

/// The answer in a few words.
fn answer(reply: &Reply) -> String {
    match reply {
        Reply::Claimed(claimed) => {
            let leases = claimed.leases.iter();
            let leases = leases.map(|lease| format!("{} at {}", lease.task_ref.id, lease.fence));
            format!("[{}]", leases.collect::<Vec<_>>().join(", "))
        }
        Reply::Found(leasehold_core::Found::Task(task)) => {
            format!("{} at {}, run {:?}", task.state, task.fence, task.run)
        }
        Reply::Counted(_) => "counts".to_owned(),
        other => format!("{other:?}"),
    }
}
