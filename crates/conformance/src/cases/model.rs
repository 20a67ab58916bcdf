//! Random histories, every reply judged by the model (LH-GEN-1).

mod golden;

use std::fmt;
use std::ops::Range;

use leasehold_core::clause::{BUDGET_2, CTL_1, GEN_1, LAPSE_8, READ_1, READ_4};

use crate::context::{Context, Stop};
use crate::plan::{self, Cmd, Shrink};
use crate::scorecard::{self, Reached};
use crate::sequence::{Broken, Ended, History, Stage};

pub(crate) use golden::golden_vectors;

/// Histories of a run, and commands of a history.
const HISTORIES: u64 = 24;
const COMMANDS: usize = 200;

/// As many times the histories are played until the whole scorecard was reached: with other
/// features a seed makes another history.
const ROUNDS_MAX: u64 = 10;

/// How often a history that failed is played again to make it shorter.
const REPLAYS_MAX: usize = 400;

/// Text that a report shows as it stands.
pub(super) struct Text(pub String);

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

/// Random commands by one caller with two handles in turn; after each, the reply is one that
/// the model allows, and every so often everything that can be read is as the model has it.
pub(crate) async fn sequential_histories(cx: &mut Context) -> Result<(), Stop> {
    let seeds = plan::seeds(HISTORIES)?;
    let features = cx.profile().features;
    let whole = seeds.end - seeds.start >= HISTORIES;
    let (all, failed) = run(cx, seeds, whole).await?;
    if let Some(failed) = failed {
        report(cx, &failed);
        return Ok(());
    }
    let unlisted = all.reached.unlisted(features);
    let unreached = all.reached.unreached(features);
    let listed = scorecard::listed(features).len();
    println!(
        "model: {} histories, {} steps, {} of {listed} cells of the scorecard",
        all.histories,
        all.steps,
        listed - unreached.len(),
    );
    for clause in [GEN_1, READ_1, READ_4, CTL_1, BUDGET_2] {
        cx.check_that(clause, "the histories that were judged", all.histories > 0, all.histories);
    }
    let what = "cells that were reached and that the scorecard does not list";
    cx.check(GEN_1, what, Text(unlisted.join("\n")), Text(String::new()));
    // One seed alone, or fewer, cannot reach everything.
    if whole && !unreached.is_empty() {
        let cells = unreached.join("\n  ");
        return Err(Stop::because(format!(
            "the histories are vacuous, no one reached these cells of the scorecard:\n  {cells}"
        )));
    }
    Ok(())
}

#[derive(Default)]
struct Totals {
    histories: usize,
    steps: usize,
    reached: Reached,
}

impl Totals {
    fn add(&mut self, history: &History) {
        self.histories += 1;
        self.steps += history.steps.len();
        self.reached.add(&history.reached);
    }
}

struct Failed {
    seed: u64,
    /// How many histories it took.
    histories: usize,
    broken: Box<Broken>,
    commands: usize,
    steps: Vec<String>,
}

/// Plays a history for each seed, up to the first that fails; a `whole` run goes on until
/// every cell was reached.
async fn run(
    cx: &Context,
    seeds: Range<u64>,
    whole: bool,
) -> Result<(Totals, Option<Failed>), Stop> {
    let features = cx.profile().features;
    let mut all = Totals::default();
    let mut stage = Stage::open(cx, 2).await?;
    let more = seeds.end..if whole { seeds.end * ROUNDS_MAX } else { 0 };
    for seed in seeds.clone().chain(more) {
        if !seeds.contains(&seed) && all.reached.unreached(features).is_empty() {
            break;
        }
        let plan = plan::sequential(seed, COMMANDS, features);
        let (history, ended) =
            played(&mut stage, &format!("h{seed}"), &plan.prefix, Some(Vec::new())).await?;
        all.add(&history);
        if let Some(broken) = ended {
            let steps = history.steps;
            let commands = plan.prefix.len();
            let histories = all.histories;
            let failed = Failed { seed, histories, broken, commands, steps };
            return Ok((all, Some(shrunk(&mut stage, &plan.prefix, failed).await?)));
        }
    }
    Ok((all, None))
}

/// Plays the commands in a queue of their own.
async fn played(
    stage: &mut Stage<'_>,
    queue: &str,
    cmds: &[Cmd],
    residue: Option<Vec<String>>,
) -> Result<(History, Option<Box<Broken>>), Stop> {
    let mut history = History { residue, ..History::new(stage, queue, 2) };
    let ended = match history.play(stage, cmds).await {
        Ok(()) => history.end(stage).await,
        ended => ended,
    };
    match ended {
        Ok(()) => Ok((history, None)),
        Err(Ended::Broken(broken)) => Ok((history, Some(broken))),
        Err(Ended::Stopped(stop)) => {
            let steps = history.steps.join("\n  ");
            Err(stop.and(&format!("\nafter these steps:\n  {steps}")))
        }
    }
}

/// The shortest history found that breaks the same clause.
async fn shrunk(stage: &mut Stage<'_>, cmds: &[Cmd], mut failed: Failed) -> Result<Failed, Stop> {
    let mut shrink = Shrink::new(cmds.to_vec(), REPLAYS_MAX);
    let mut replays = 0;
    while let Some(cmds) = shrink.next() {
        replays += 1;
        let queue = format!("h{}-{replays}", failed.seed);
        // The histories before left what is wrong, and nobody cleans it away.
        let residue = match failed.broken.clause.id == LAPSE_8.id {
            true => Some(stage.residue().await?),
            false => None,
        };
        let (history, ended) = played(stage, &queue, &cmds, residue).await?;
        let same = ended.filter(|ended| ended.clause.id == failed.broken.clause.id);
        shrink.told(same.is_some());
        if let Some(same) = same {
            (failed.broken, failed.steps) = (same, history.steps);
        }
    }
    failed.commands = shrink.smallest().len();
    Ok(failed)
}

fn report(cx: &mut Context, failed: &Failed) {
    let Failed { seed, histories, broken, commands, steps } = failed;
    let Broken { clause, what, got, want } = &**broken;
    let steps = steps.join("\n  ");
    let what = format!(
        "{what} in the history of seed {seed}, the {histories}. of the run\n  replay it: \
         LH_HISTORY={seed} and the test model::sequential_histories\n  the shortest that fails \
         has {commands} commands:\n  {steps}\n"
    );
    cx.check(*clause, &what, Text(got.clone()), Text(want.clone()));
}
