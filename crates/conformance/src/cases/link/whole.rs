//! A request or a reply that is lost whole, verb by verb, at each piece of the call in turn.

use leasehold_core::Features;

use super::rounds::{self, Seen};
use super::wire::{Loss, Losses, Wire};
use crate::context::{Context, Stop};
use crate::gate::Way;

/// A verb whose call loses something, once for each round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Enqueue,
    Claim,
    NamedClaim,
    Renew,
    Commit,
    CommitBringing,
    Configure,
    Purge,
}

impl Verb {
    const ALL: [Verb; 8] = [
        Self::Enqueue,
        Self::Claim,
        Self::NamedClaim,
        Self::Renew,
        Self::Commit,
        Self::CommitBringing,
        Self::Configure,
        Self::Purge,
    ];

    fn needs(self) -> Features {
        match self {
            Self::NamedClaim => Features::REPLAY,
            Self::CommitBringing => Features::FOLLOW_UPS,
            _ => Features::empty(),
        }
    }

    async fn play(self, cx: &mut Context, at: &Wire, loss: Loss) -> Result<Seen, Stop> {
        match self {
            Self::Enqueue => rounds::enqueue(cx, at, loss).await,
            Self::Claim => rounds::claim(cx, at, loss).await,
            Self::NamedClaim => rounds::named_claim(cx, at, loss).await,
            Self::Renew => rounds::renew(cx, at, loss).await,
            Self::Commit => rounds::commit(cx, at, loss).await,
            Self::CommitBringing => rounds::commit_bringing(cx, at, loss).await,
            Self::Configure => rounds::configure(cx, at, loss).await,
            Self::Purge => rounds::purge(cx, at, loss).await,
        }
    }
}

/// Loses each piece of the verb's call that goes this way, each in a queue of its own, and all
/// that follows it.
async fn lose_each(cx: &mut Context, verb: Verb, way: Way) -> Result<(), Stop> {
    let wire = Wire::lay(cx).await?;
    // The first call of a verb may have pieces that no other has.
    verb.play(cx, &wire.on(&format!("{verb:?}-first")), Loss::Nothing).await?;
    let mut losses = Losses::of(way);
    while let Some((loss, queue)) = losses.next()? {
        cx.note(format!("{verb:?}: lost is {loss:?}"));
        let at = wire.on(&format!("{verb:?}-{queue}"));
        let seen = verb.play(cx, &at, loss).await?;
        losses.saw(cx, seen);
    }
    Ok(())
}

/// LH-GEN-4 and LH-GEN-1: what is told is Unavailable and not Duplicate, which no order of calls
/// allows before the repeat. That one is a Duplicate by LH-ENQ-2.
pub(crate) async fn an_enqueue_without_its_reply_counts_once(cx: &mut Context) -> Result<(), Stop> {
    lose_each(cx, Verb::Enqueue, Way::Replies).await
}

/// A claim without a name cannot be repeated: what it was granted lapses.
pub(crate) async fn a_claim_without_its_reply_lapses(cx: &mut Context) -> Result<(), Stop> {
    lose_each(cx, Verb::Claim, Way::Replies).await
}

/// A claim with a name brings at the second try the very leases that the first was granted.
pub(crate) async fn a_named_claim_without_its_reply_is_repeated(
    cx: &mut Context,
) -> Result<(), Stop> {
    lose_each(cx, Verb::NamedClaim, Way::Replies).await
}

/// The lease is extended, and the handle may say so or not.
pub(crate) async fn a_renew_without_its_reply_counts_once(cx: &mut Context) -> Result<(), Stop> {
    lose_each(cx, Verb::Renew, Way::Replies).await
}

/// A failure spends one retry, and its repeat is Replayed.
pub(crate) async fn a_commit_without_its_reply_is_replayed(cx: &mut Context) -> Result<(), Stop> {
    lose_each(cx, Verb::Commit, Way::Replies).await
}

/// Two follow-ups of a success are made once, whatever becomes of its reply.
pub(crate) async fn follow_ups_without_a_reply_are_made_once(cx: &mut Context) -> Result<(), Stop> {
    lose_each(cx, Verb::CommitBringing, Way::Replies).await
}

/// Settings stand whether or not their author heard so.
pub(crate) async fn settings_without_a_reply_stand(cx: &mut Context) -> Result<(), Stop> {
    lose_each(cx, Verb::Configure, Way::Replies).await
}

/// What a purge removed is not told by its repeat, and is not removed twice.
pub(crate) async fn a_purge_without_its_reply_counts_once(cx: &mut Context) -> Result<(), Stop> {
    lose_each(cx, Verb::Purge, Way::Replies).await
}

/// Each verb: what never reached the server has no effect, and the repeat has all of it.
pub(crate) async fn a_lost_request_changes_nothing(cx: &mut Context) -> Result<(), Stop> {
    let features = cx.profile().features;
    for verb in Verb::ALL.into_iter().filter(|verb| features.contains(verb.needs())) {
        lose_each(cx, verb, Way::Requests).await?;
    }
    Ok(())
}
