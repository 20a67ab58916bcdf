//! The golden vectors, replayed.

use leasehold_core::clause::GEN_1;
use leasehold_core::{Claimed, Features, Timestamp};

use crate::actor::Actor;
use crate::context::{Context, Stop};
use crate::model::{Model, Op, Reply, step};
use crate::perform::perform;
use crate::vectors::{Book, Vector, vectors};

/// How often a claim is made again that granted less than there is and said so (LH-CLAIM-4).
const ASKED_AGAIN_MAX: usize = 3;

/// The calls of each vector, in a queue of its own: the backend answers something that the model
/// takes, and draws its fences where the file foresees them.
pub(crate) async fn golden_vectors(cx: &mut Context) -> Result<(), Stop> {
    let features = cx.profile().features;
    let actor = cx.actor("vectors").await?;
    let mut steps = 0;
    for (name, vector) in vectors() {
        if features.contains(needs(&vector)?) {
            steps += replay(cx, &actor.on(name), &vector).await?;
        }
    }
    cx.check_that(GEN_1, "the steps that were judged", steps > 0, steps);
    Ok(())
}

fn needs(vector: &Vector) -> Result<Features, Stop> {
    let names = vector.features.iter().map(|name| {
        let known = Features::from_name(&name.to_uppercase().replace('-', "_"));
        known.ok_or_else(|| Stop::because(format!("{name} is no feature")))
    });
    names.collect()
}

/// Replays one vector up to its end or to the first wrong answer, and tells how many steps were
/// judged.
async fn replay(cx: &mut Context, actor: &Actor, vector: &Vector) -> Result<usize, Stop> {
    let queue = actor.queue();
    let now = store_time(actor).await?;
    let capabilities = actor.backend().capabilities();
    let lags = !capabilities.count_lag.is_zero();
    let mut model = Model::new(queue, capabilities, now);
    let (mut book, mut plain) = (Book::unbound(queue, now), Book::plain(queue, now));
    for (at, step_of) in vector.steps.iter().enumerate() {
        let place = format!("vector {queue}, step {}", at + 1);
        let wrong = |why: String| Stop::because(format!("{place}: {why}"));
        let op = step_of.call.op(&book).map_err(wrong)?;
        if let (Op::Count, true) = (&op, lags) {
            continue;
        }
        plain.note(&model, &op);
        let right = step_of.right.reply(&plain).map_err(wrong)?;
        if let Op::Shift(by_ms) = op {
            cx.shift(by_ms).await?;
        }
        for again in 0.. {
            let told = perform(&**actor.backend(), queue, &op).await?;
            match step(&model, &op, &told) {
                Ok(next) => model = next,
                Err(breach) => {
                    cx.check_that(breach.clause, &place, false, format_args!("{breach}"));
                    return Ok(at);
                }
            }
            if again == ASKED_AGAIN_MAX || !is_cut_short(&right, &told) {
                book.bind(&right, &told).map_err(wrong)?;
                break;
            }
        }
    }
    Ok(vector.steps.len())
}

/// Whether a claim granted nothing for now and wants to be asked again.
fn is_cut_short(right: &Reply, told: &Reply) -> bool {
    let granted = |reply: &Reply| match reply {
        Reply::Claimed(Claimed { leases, more, .. }) => Some((leases.len(), *more)),
        _ => None,
    };
    match (granted(right), granted(told)) {
        (Some((wanted, _)), Some((0, true))) => wanted > 0,
        _ => false,
    }
}

/// What the store's clock shows, which a vector's clock follows from here on.
async fn store_time(actor: &Actor) -> Result<Timestamp, Stop> {
    let probe = actor.on("the time");
    probe.enqueue(Actor::task(actor.queue())).await?;
    Ok(probe.get(actor.queue()).await?.enqueued_at)
}
