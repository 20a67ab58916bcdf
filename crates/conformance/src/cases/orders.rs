//! Every order of the races that lose tasks elsewhere, for every kind of change.

use leasehold_core::clause::{
    BUDGET_1, BUDGET_3, COMMIT_1, COMMIT_4, COMMIT_7, Clause, DEAD_5, FENCE_2, LAPSE_1, LAPSE_3,
    LATE_1, LATE_2, LIMIT_3, LIMIT_4, LIMIT_7, OPER_1, OPER_2, OPER_8, OPER_11, RENEW_2, UNIQ_3,
};
use leasehold_core::{Delivery, LimitKey, NewTask};

use crate::context::{Context, Stop};
use crate::expect::KEPT;
use crate::moves::{ACTS, ENDINGS, RESCUES};
use crate::orders::{Met, Played, Race, Script, Stage, Step};

/// A worker's run ends while a rescuer takes it for lost and an operator acts.
pub async fn worker_rescuer_and_operator(cx: &mut Context) -> Result<(), Stop> {
    let races = deliveries(|delivery| {
        endings_and_acts(|end, act| Race {
            tasks: vec![task(delivery)],
            scripts: vec![
                script("worker", vec![Step::Run, Step::End(end), Step::Again]),
                script("rescuer", vec![Step::Lapse, Step::Rescue, Step::Decide]),
                script("operator", vec![Step::See, Step::Act(act), Step::See]),
            ],
            ..race(end, act)
        })
    });
    let occasions = [
        (COMMIT_1, Met::Applied),
        (COMMIT_4, Met::Replayed),
        (COMMIT_7, Met::Overdue),
        (FENCE_2, Met::Stale),
        (LATE_1, Met::Late),
        (LATE_2, Met::Stale),
        (LAPSE_1, Met::Rescued),
        (BUDGET_1, Met::Rescued),
        (BUDGET_3, Met::Replayed),
        (OPER_1, Met::Stale),
        (OPER_8, Met::Stale),
    ];
    play(cx, races, &occasions).await
}

/// Two rescuers take over from each other while the worker comes back.
pub async fn two_rescuers_and_a_worker(cx: &mut Context) -> Result<(), Stop> {
    let rescue = || vec![Step::Lapse, Step::Rescue, Step::Decide];
    let races = deliveries(|delivery| {
        ENDINGS
            .map(|end| Race {
                tasks: vec![NewTask::new("kind", "payload", delivery).with_id("t")],
                prefix: vec![0],
                scripts: vec![
                    script("worker", vec![Step::Run, Step::Renew, Step::End(end), Step::Again]),
                    script("rescuer", rescue()),
                    script("other rescuer", rescue()),
                ],
                ..race(end, "nothing")
            })
            .to_vec()
    });
    let occasions = [
        (LAPSE_3, Met::TakenOver),
        (LATE_1, Met::Late),
        (RENEW_2, Met::Lapsed),
        (RENEW_2, Met::Lost),
        (FENCE_2, Met::Stale),
        (BUDGET_1, Met::Rescued),
    ];
    play(cx, races, &occasions).await
}

/// Two operators act on what they saw while a rescuer decides.
pub async fn two_operators_and_a_rescuer(cx: &mut Context) -> Result<(), Stop> {
    let races = deliveries(|delivery| {
        let pairs = ACTS.iter().flat_map(|act| ["cancel", "revoke", "delete"].map(|b| (*act, b)));
        let races = pairs.map(|(first, second)| Race {
            what: format!("{first} and {second}"),
            common: first == "cancel" && second == "cancel",
            tasks: vec![task(delivery)],
            prefix: vec![0],
            scripts: vec![
                script("worker", vec![Step::Run]),
                script("operator", vec![Step::See, Step::Act(first), Step::Again]),
                script("other operator", vec![Step::See, Step::Act(second), Step::Again]),
                script("rescuer", vec![Step::Lapse, Step::Rescue, Step::Decide]),
            ],
            ..race("nothing", first)
        });
        races.collect()
    });
    let occasions = [
        (OPER_1, Met::Stale),
        (OPER_2, Met::Stale),
        (OPER_8, Met::Rescued),
        (COMMIT_4, Met::Replayed),
    ];
    play(cx, races, &occasions).await
}

/// A run ends, or is taken away, while somebody waits for its slot.
pub async fn a_slot_between_two_tasks(cx: &mut Context) -> Result<(), Stop> {
    let races = endings_and_acts(|end, act| {
        let limited = |id: &str| task(Delivery::at_least_once()).with_id(id).with_limit(key());
        Race {
            limit: Some(1),
            tasks: vec![limited("t"), limited("u")],
            prefix: vec![0],
            scripts: vec![
                script("worker", vec![Step::Run, Step::Renew, Step::End(end), Step::Again]),
                script("operator", vec![Step::See, Step::Act(act), Step::Lapse]),
                script("claimer", vec![Step::Run, Step::Run, Step::End("success")]),
            ],
            ..race(end, act)
        }
    });
    let occasions = [
        (LIMIT_3, Met::Nothing),
        (LIMIT_4, Met::Stale),
        (LIMIT_7, Met::Nothing),
        (RENEW_2, Met::Lost),
    ];
    play(cx, races, &occasions).await
}

/// A run ends, or is taken away, while somebody enqueues another task under its unique key.
pub async fn a_unique_key_between_two_tasks(cx: &mut Context) -> Result<(), Stop> {
    let races = endings_and_acts(|end, act| {
        let unique = |id: &str| task(Delivery::at_least_once()).with_id(id).with_unique("key");
        Race {
            tasks: vec![unique("t")],
            prefix: vec![0],
            scripts: vec![
                script("worker", vec![Step::Run, Step::Renew, Step::End(end), Step::Again]),
                script("operator", vec![Step::See, Step::Act(act), Step::Lapse]),
                script(
                    "claimer",
                    vec![Step::Enqueue(Box::new(unique("u"))), Step::Run, Step::End("success")],
                ),
            ],
            ..race(end, act)
        }
    });
    let occasions = [(UNIQ_3, Met::Duplicate), (OPER_11, Met::Nothing), (FENCE_2, Met::Stale)];
    play(cx, races, &occasions).await
}

/// A dead letter is sent back while the success of its lost run arrives.
pub async fn redrive_and_late_success(cx: &mut Context) -> Result<(), Stop> {
    let races = ENDINGS.map(|end| Race {
        tasks: vec![task(Delivery::NotAfterLoss).with_unique("key")],
        prefix: vec![0],
        scripts: vec![
            script("worker", vec![Step::Run, Step::Renew, Step::End(end), Step::Again]),
            script("rescuer", vec![Step::Lapse, Step::Rescue, Step::Decide]),
            script("operator", vec![Step::See, Step::Act("redrive"), Step::Run]),
        ],
        ..race(end, "redrive")
    });
    let occasions = [(LATE_1, Met::Late), (DEAD_5, Met::Stale), (COMMIT_4, Met::Replayed)];
    play(cx, races.to_vec(), &occasions).await
}

/// Four actors with up to four verbs, in orders chosen by the seed.
pub async fn four_actors(cx: &mut Context) -> Result<(), Stop> {
    let rescue = || vec![Step::Lapse, Step::Rescue, Step::Decide];
    let races = deliveries(|delivery| {
        endings_and_acts(|end, act| Race {
            tasks: vec![task(delivery)],
            prefix: vec![0],
            scripts: vec![
                script("worker", vec![Step::Run, Step::Renew, Step::End(end), Step::Again]),
                script("rescuer", rescue()),
                script("other rescuer", [rescue(), vec![Step::Run]].concat()),
                script("operator", vec![Step::See, Step::Act(act), Step::See, Step::Act(act)]),
            ],
            ..race(end, act)
        })
    });
    let occasions = [
        (LAPSE_3, Met::TakenOver),
        (LATE_1, Met::Late),
        (OPER_2, Met::Stale),
        (COMMIT_7, Met::Overdue),
    ];
    play(cx, races, &occasions).await
}

async fn play(cx: &mut Context, races: Vec<Race>, occasions: &[(Clause, Met)]) -> Result<(), Stop> {
    let actors = races.iter().map(|race| race.scripts.len()).max().unwrap_or(0);
    let mut stage = Stage::open(cx, actors).await?;
    let mut played = Played::default();
    for race in &races {
        stage.play(cx, race, &mut played).await?;
    }
    played.finish(cx, occasions)
}

/// For each of what a first rescue does.
fn deliveries(races: impl Fn(Delivery) -> Vec<Race>) -> Vec<Race> {
    let named = RESCUES.into_iter().flat_map(|(name, delivery)| {
        races(delivery)
            .into_iter()
            .map(move |race| Race { what: format!("{}, a rescue that {name}s", race.what), ..race })
    });
    named.collect()
}

/// Every ending beside a cancel, and a success beside every other act.
fn endings_and_acts(race: impl Fn(&'static str, &'static str) -> Race) -> Vec<Race> {
    let endings = ENDINGS.into_iter().map(|end| (end, "cancel"));
    let acts = ACTS.into_iter().filter(|act| *act != "cancel").map(|act| ("success", act));
    endings.chain(acts).map(|(end, act)| race(end, act)).collect()
}

fn race(end: &str, act: &str) -> Race {
    Race {
        what: format!("{end} and {act}"),
        common: matches!(end, "success" | "failure")
            && matches!(act, "cancel" | "redrive" | "nothing"),
        limit: None,
        tasks: Vec::new(),
        prefix: Vec::new(),
        scripts: Vec::new(),
    }
}

fn script(name: &'static str, steps: Vec<Step>) -> Script {
    Script { name, steps }
}

fn task(delivery: Delivery) -> NewTask {
    NewTask::new("kind", "payload", delivery).with_id("t").with_retention(KEPT)
}

fn key() -> LimitKey {
    LimitKey::new("group", "key")
}
