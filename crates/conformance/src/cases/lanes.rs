//! Random calls of several callers at once, judged by the model (LH-GEN-1).

use leasehold_core::Features;
use leasehold_core::clause::{CLAIM_2, CLAIM_4, FENCE_3, GEN_1, READ_1};

use super::model::Text;
use crate::context::{Context, Stop};
use crate::hands::Hands;
use crate::linear::{self, Found, Piece, What};
use crate::model::{Model, Op};
use crate::overlap::{self, Heard, Lanes, Names};
use crate::plan::{self, Cmd, Plan};
use crate::sequence::{Broken, Ended, History, Stage, told_op, told_reply};

/// Histories of a run, callers of a history, and commands of a caller in each of two rounds.
const HISTORIES: u64 = 100;
const LANES: usize = 3;
const COMMANDS: usize = 6;

/// Histories in which each task stands by itself are longer.
const COMMANDS_BY_TASK: usize = 8;

/// States after which the search for an order gives up.
const STATES_MAX: usize = 50_000;

/// Three callers at once, in two rounds with a shift of the clock between them: some order of
/// their calls, one that their times allow, is one that the model allows. Calls that were
/// dropped half way, or answered by Unavailable, took effect at any later time or never.
pub(crate) async fn histories_are_linearizable(cx: &mut Context) -> Result<(), Stop> {
    let seeds = plan::seeds(HISTORIES)?;
    let mut all = Totals::default();
    let failed = run(cx, seeds, &mut all).await?;
    if let Some(broken) = failed {
        let Broken { clause, what, got, want } = *broken;
        cx.check(clause, &what, Text(got), Text(want));
        return Ok(());
    }
    println!(
        "lanes: {} histories, {} calls, {} pairs of them at once, {} without a reply, \
         {} orders found, {} states at most",
        all.histories, all.calls, all.overlaps, all.unseen, all.orders, all.states_max
    );
    for clause in [GEN_1, CLAIM_2, CLAIM_4, FENCE_3, READ_1] {
        cx.check_that(clause, "the histories that were judged", all.histories > 0, all.histories);
    }
    if all.overlaps == 0 || all.unseen == 0 {
        return Err(Stop::because(
            "the histories are vacuous: no two calls overlapped, or none was dropped",
        ));
    }
    Ok(())
}

#[derive(Default)]
struct Totals {
    histories: usize,
    calls: usize,
    overlaps: usize,
    unseen: usize,
    orders: usize,
    states_max: usize,
}

async fn run(
    cx: &Context,
    seeds: std::ops::Range<u64>,
    all: &mut Totals,
) -> Result<Option<Box<Broken>>, Stop> {
    let mut stage = Stage::open(cx, LANES).await?;
    let lanes = Lanes::new(LANES)?;
    for seed in seeds {
        let by_task = seed % 2 == 0;
        let played = play(&mut stage, &lanes, seed, by_task, cx.profile().features).await;
        let (start, heard) = match played {
            Ok(played) => played,
            Err(Ended::Broken(broken)) => return Ok(Some(broken)),
            Err(Ended::Stopped(stop)) => return Err(stop),
        };
        all.histories += 1;
        all.calls += heard.len();
        all.overlaps += overlap::overlaps(&heard);
        all.unseen += heard.iter().filter(|heard| heard.back.is_none()).count();
        if let Some(broken) = judge(seed, by_task, &start, &heard, all)? {
            return Ok(Some(broken));
        }
    }
    Ok(None)
}

/// Where a history began, and what was called since.
async fn play(
    stage: &mut Stage<'_>,
    lanes: &Lanes,
    seed: u64,
    by_task: bool,
    features: Features,
) -> Result<(Model, Vec<Heard>), Ended> {
    let queue = format!("l{seed}");
    let joint = Features::LIMITS | Features::UNIQUE | Features::FOLLOW_UPS;
    let (features, commands) = match by_task {
        true => (features - joint, COMMANDS_BY_TASK),
        false => (features, COMMANDS),
    };
    let [first, second] = plan::concurrent(seed, LANES, commands, features);
    let mut history = History::new(stage, &queue, 2 + LANES);
    history.play(stage, &first.prefix).await?;
    let History { model: start, hands, .. } = history;
    let (mut heard, hands) = round(stage, lanes, &queue, &first, hands).await?;
    for cmd in &second.prefix {
        if let Cmd::Shift(by_ms) = cmd {
            stage.shift(*by_ms).await?;
            heard.push(alone(stage, lanes, &queue, Op::Shift(*by_ms)).await?);
        }
    }
    heard.extend(round(stage, lanes, &queue, &second, hands).await?.0);
    for id in Names::of(&start, &heard).ids {
        heard.push(alone(stage, lanes, &queue, Op::Get(id)).await?);
    }
    if !by_task {
        heard.push(alone(stage, lanes, &queue, Op::Count).await?);
    }
    Ok((start, heard))
}

async fn round(
    stage: &Stage<'_>,
    lanes: &Lanes,
    queue: &str,
    plan: &Plan,
    hands: Hands,
) -> Result<(Vec<Heard>, Hands), Stop> {
    lanes.play(stage.handles(), queue, &plan.lanes, hands, stage.now).await
}

async fn alone(stage: &Stage<'_>, lanes: &Lanes, queue: &str, op: Op) -> Result<Heard, Stop> {
    lanes.alone(stage.handles()[0].as_ref(), queue, op).await
}

/// Looks for an order of the whole history, or of what happened to each task.
fn judge(
    seed: u64,
    by_task: bool,
    start: &Model,
    heard: &[Heard],
    all: &mut Totals,
) -> Result<Option<Box<Broken>>, Stop> {
    let names = Names::of(start, heard);
    let pieces = overlap::pieces(heard, &names);
    let parts = match by_task {
        true => names.ids.iter().map(|id| (alone_in(start, id), of(&pieces, id))).collect(),
        false => vec![(start.clone(), pieces)],
    };
    for (start, pieces) in parts {
        match linear::order(&start, &pieces, STATES_MAX) {
            Found::Order { states } => {
                all.orders += 1;
                all.states_max = all.states_max.max(states);
            }
            Found::Nothing { stuck } => return Ok(Some(broken(seed, &start, &pieces, stuck))),
            Found::Unknown => {
                let pieces = told(&pieces);
                return Err(Stop::because(format!(
                    "incomplete: no order of the history of seed {seed} was found, nor that \
                     there is none:\n  {pieces}"
                )));
            }
        }
    }
    Ok(None)
}

/// The queue as if there were one task.
fn alone_in(start: &Model, id: &str) -> Model {
    let mut model = start.clone();
    model.tasks.retain(|other, _| other == id);
    model.left.retain(|other, _| other == id);
    model.fences.retain(|other, _| other == id);
    model.claims.clear();
    model
}

/// What concerns one task: its own steps, and those of the whole queue.
fn of(pieces: &[Piece], id: &str) -> Vec<Piece> {
    let concerns = |piece: &&Piece| match &piece.what {
        What::Step(Op::Get(of), _) | What::Passed(_, of) => of == id,
        _ => piece.touches(id),
    };
    pieces.iter().filter(concerns).cloned().collect()
}

fn broken(seed: u64, start: &Model, pieces: &[Piece], stuck: usize) -> Box<Broken> {
    let clause = linear::clause_of(&pieces[stuck]);
    let tasks = start.tasks.values().map(|kept| {
        let task = &kept.task;
        format!("{} {} at {} run {:?}", task.task_ref.id, task.state, task.fence, task.run)
    });
    let what = format!(
        "the calls of seed {seed}, lane by call..return, cannot be put in an order\n  \
         they are random in time as well; again: LH_HISTORY={seed} and the test \
         lanes::histories_are_linearizable\n  at first: {}\n  {}\n",
        tasks.collect::<Vec<_>>().join(", "),
        told(pieces),
    );
    let want = "an order of these steps in which each reply is right".to_owned();
    let got = format!("none gets past: {}", one(&pieces[stuck]));
    Box::new(Broken { clause, what, got, want })
}

fn told(pieces: &[Piece]) -> String {
    let mut pieces: Vec<_> = pieces.iter().collect();
    pieces.sort_by_key(|piece| piece.call);
    pieces.into_iter().map(one).collect::<Vec<_>>().join("\n  ")
}

fn one(piece: &Piece) -> String {
    let back = piece.back.map_or("?".to_owned(), |back| back.to_string());
    let what = match &piece.what {
        What::Step(op, reply) => format!("{} -> {}", told_op(op), told_reply(reply)),
        What::Maybe(op) => format!("{} -> ?", told_op(op)),
        What::Grant(claim, lease) => {
            format!("{:?} grants {}@{}", claim.purpose, lease.task_ref.id, lease.fence)
        }
        What::MaybeGrant(claim, id) => format!("{:?} grants {id}?", claim.purpose),
        What::Again { lease, .. } => format!("again {}@{}", lease.task_ref.id, lease.fence),
        What::Passed(claim, id) => format!("{:?} passes {id}", claim.purpose),
    };
    format!("lane {} {}..{back}: {what}", piece.lane, piece.call)
}
