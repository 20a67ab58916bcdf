//! What a backend does not declare, it refuses (LH-GEN-9).

use leasehold_core::clause::GEN_9;
use leasehold_core::{
    Change, Claim, ClaimerId, Configure, Enqueue, Error, ErrorKind, Event, Features, Guard,
    LimitKey, Purpose, Role, To,
};

use crate::actor::{Actor, applied};
use crate::context::{Context, Stop};

pub(crate) async fn undeclared_features(cx: &mut Context) -> Result<(), Stop> {
    let undeclared = Features::all() - cx.profile().features;
    each(cx, undeclared).await
}

/// Uses each of `missing` once: every use must be Unsupported and change nothing.
pub(crate) async fn each(cx: &mut Context, missing: Features) -> Result<(), Stop> {
    let user = cx.actor("user").await?;
    user.enqueue(Actor::task("bystander")).await?;
    let before = user.get("bystander").await?;
    for feature in missing.iter() {
        let refused = use_of(feature, &user).await?;
        let kind = refused.as_ref().err().map(Error::kind);
        cx.check(GEN_9, &format!("a use of {feature:?}"), kind, Some(ErrorKind::Unsupported));
    }
    cx.check_untouched(GEN_9, "a bystander of refused calls", &user, &before).await?;
    for id in ["limited", "unique", "follower"] {
        cx.check_gone(GEN_9, "a task of a refused call", &user, id).await?;
    }
    let lease = user.run_one().await?;
    cx.check(GEN_9, "the only task there is", lease.task_ref.id.as_str(), "bystander");
    applied(user.succeed(&lease).await?)?;
    Ok(())
}

async fn use_of(feature: Features, user: &Actor) -> Result<Result<(), Error>, Stop> {
    let backend = user.backend();
    let enqueue =
        async |new| backend.enqueue(Enqueue::new(Context::QUEUE, vec![new])).await.map(|_| ());
    let claim = async |claim: Claim| backend.claim(claim).await.map(|_| ());
    let request = user.request(Purpose::Run, 1);
    Ok(match feature {
        Features::LIMITS => {
            let set = user.configure(Configure::new(Context::QUEUE).with_limit("g", 1)).await;
            let limited = Actor::task("limited").with_limit(LimitKey::new("g", "k"));
            set.and(enqueue(limited).await)
        }
        Features::UNIQUE => enqueue(Actor::task("unique").with_unique("u")).await,
        Features::KINDS => claim(request.with_kinds(["kind"])).await,
        Features::REPLAY => claim(request.with_ticket(ClaimerId::from_bits(1), 1)).await,
        Features::FOLLOW_UPS => {
            let seen = user.get("bystander").await?;
            let success = Change::new(Role::Worker, To::Succeeded, Event::Succeeded)
                .with_follow_ups(vec![Actor::task("follower")]);
            user.commit(Guard::new(seen.task_ref, seen.fence), success).await.map(|_| ())
        }
        other => return Err(Stop::because(format!("no use of {other:?} is known: add one"))),
    })
}
