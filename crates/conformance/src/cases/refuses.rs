//! What a backend does not declare, it refuses (LH-GEN-9).

use leasehold_core::clause::GEN_9;
use leasehold_core::{
    Change, Claim, ClaimerId, Configure, Error, ErrorKind, Event, Features, Guard, LimitKey,
    NewTask, Purpose, Role, To,
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
    let settings = user.backend().configure(Configure::new(Context::QUEUE)).await?;
    for feature in missing.iter() {
        for (what, used) in uses(feature, &user).await? {
            let kind = used.as_ref().err().map(Error::kind);
            cx.check(GEN_9, &format!("{feature:?}: {what}"), kind, Some(ErrorKind::Unsupported));
        }
    }
    let after = user.backend().configure(Configure::new(Context::QUEUE)).await?;
    cx.check(GEN_9, "the settings after refused calls", after, settings);
    cx.check_untouched(GEN_9, "a bystander of refused calls", &user, &before).await?;
    for id in ["limited", "unique", "follower"] {
        cx.check_gone(GEN_9, "a task of a refused call", &user, id).await?;
    }
    let lease = user.run_one().await?;
    cx.check(GEN_9, "the only task there is", lease.task_ref.id.as_str(), "bystander");
    applied(user.succeed(&lease).await?)?;
    Ok(())
}

/// Every way in which a caller can use a feature.
async fn uses(
    feature: Features,
    user: &Actor,
) -> Result<Vec<(&'static str, Result<(), Error>)>, Stop> {
    let backend = user.backend();
    let claim = async |claim: Claim| backend.claim(claim).await.map(|_| ());
    let enqueue = async |new: NewTask| user.try_enqueue(new).await.map(|_| ());
    let follow = async |new: NewTask| -> Result<Result<(), Error>, Stop> {
        let seen = user.get("bystander").await?;
        let success = Change::new(Role::Worker, To::Succeeded, Event::Succeeded);
        let guard = Guard::new(seen.task_ref, seen.fence);
        Ok(user.commit(guard, success.with_follow_ups(vec![new])).await.map(|_| ()))
    };
    let request = user.request(Purpose::Run, 1);
    let limited = || Actor::task("limited").with_limit(LimitKey::new("g", "k"));
    let unique = || Actor::task("unique").with_unique("u");
    Ok(match feature {
        Features::LIMITS => vec![
            ("a setting", user.configure(Configure::new(Context::QUEUE).with_limit("g", 1)).await),
            ("a new task", enqueue(limited()).await),
            ("a follow-up", follow(limited()).await?),
        ],
        Features::UNIQUE => {
            vec![("a new task", enqueue(unique()).await), ("a follow-up", follow(unique()).await?)]
        }
        Features::KINDS => vec![("a claim", claim(request.with_kinds(["kind"])).await)],
        Features::REPLAY => {
            vec![("a claim", claim(request.with_ticket(ClaimerId::from_bits(1), 1)).await)]
        }
        Features::FOLLOW_UPS => vec![("a commit", follow(Actor::task("follower")).await?)],
        other => return Err(Stop::because(format!("no use of {other:?} is known: add one"))),
    })
}
