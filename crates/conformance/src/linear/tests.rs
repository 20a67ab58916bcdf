//! Histories by hand: sound ones have an order, and each with one fault has none.

use std::time::Duration;

use leasehold_core::decide::{self, Outcome, Retry};
use leasehold_core::{
    Applied, Capabilities, Claim, CommitItem, CommitVerdict, Configure, Delivery, Due, Durability,
    EnqueueVerdict, Failover, Features, Fence, Found as Read, Lease, LimitKey, NewTask, Purpose,
    RenewItem, RenewVerdict, RetryPolicy, State, Timestamp,
};

use super::{Found, Piece, What, order};
use crate::model::{Model, Op, Reply, predict};

const TTL: Duration = Duration::from_secs(1);

/// A history in the making: each step takes effect at once, between its call and its return.
struct Story {
    start: Model,
    model: Model,
    pieces: Vec<Piece>,
}

impl Story {
    /// A queue with the tasks `t` and `u` under a limit of one.
    fn new() -> Self {
        let durability = Durability::new(false, false, Failover::Single);
        let capabilities = Capabilities::new("model", Features::all(), durability);
        let model = Model::new("q", capabilities, Timestamp::from_millis(1_000));
        let (model, _) = predict(&model, &Op::Configure(Configure::new("q").with_limit("g", 1)));
        let new = |id: &'static str| {
            NewTask::named(id, "kind", id, Delivery::at_least_once())
                .with_retry(RetryPolicy::at_most(9))
                .with_limit(LimitKey::new("g", "k"))
        };
        let (model, _) = predict(&model, &Op::Enqueue(vec![new("t"), new("u")]));
        Self { start: model.clone(), model, pieces: Vec::new() }
    }

    fn push(&mut self, what: What) -> usize {
        let call = 10 * self.pieces.len() as u64;
        self.pieces.push(Piece { lane: 1, call, back: Some(call + 5), what });
        self.pieces.len() - 1
    }

    /// A step with the reply that is right; its index.
    fn does(&mut self, op: Op) -> usize {
        let (next, reply) = predict(&self.model, &op);
        self.model = next;
        self.push(What::Step(op, reply))
    }

    /// A claim that is granted one task; its index and the lease.
    fn claims(&mut self, purpose: Purpose) -> (usize, Lease) {
        let claim = Claim::new("q", purpose, 1, TTL, "me");
        let (next, reply) = predict(&self.model, &Op::Claim(claim.clone()));
        self.model = next;
        let Reply::Claimed(mut claimed) = reply else { panic!("{reply:?}") };
        let lease = claimed.leases.pop().expect("one is granted");
        (self.push(What::Grant(claim, lease.clone())), lease)
    }

    fn gets(&mut self) -> usize {
        self.does(Op::Get("t".to_owned()))
    }

    fn lapse(&mut self) {
        self.does(Op::Shift(1_000));
    }

    /// Nobody saw the reply of this step, which took effect.
    fn unseen(&mut self, at: usize) {
        self.pieces[at].back = None;
        self.pieces[at].what = match &self.pieces[at].what {
            What::Step(op, _) => What::Maybe(op.clone()),
            What::Grant(claim, lease) => What::MaybeGrant(claim.clone(), lease.task_ref.id.clone()),
            other => panic!("{other:?}"),
        };
    }

    /// This one goes on at the same time as that one.
    fn beside(&mut self, at: usize, other: usize) {
        (self.pieces[at].call, self.pieces[at].back) =
            (self.pieces[other].call, self.pieces[other].back);
    }

    fn reply(&mut self, at: usize) -> &mut Reply {
        match &mut self.pieces[at].what {
            What::Step(_, reply) => reply,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn is_sound(&self) {
        let found = order(&self.start, &self.pieces, 10_000);
        assert!(matches!(found, Found::Order { .. }), "{found:?}");
    }

    /// There is no order, and this is where each ends.
    #[track_caller]
    fn is_stuck_at(&self, at: usize) {
        assert_eq!(order(&self.start, &self.pieces, 10_000), Found::Nothing { stuck: at });
    }
}

fn success(lease: &Lease) -> Op {
    let done = Outcome::Succeeded { result: None, follow_ups: Vec::new() };
    Op::Commit(CommitItem::new(lease.guard(), decide::run(lease, done, 1)))
}

fn failure(lease: &Lease) -> Op {
    let failed = Outcome::Failed { message: String::new(), retry: Retry::After(Duration::ZERO) };
    Op::Commit(CommitItem::new(lease.guard(), decide::run(lease, failed, 1)))
}

fn rescue(lease: &Lease) -> Op {
    Op::Commit(CommitItem::new(lease.guard(), decide::rescue(lease)))
}

fn applied(fence: u64) -> Reply {
    Reply::Committed(CommitVerdict::Applied(Applied::new(Fence::new(fence))))
}

/// Run, failure, lapse, rescue, late success, with reads between.
fn long() -> Story {
    let mut story = Story::new();
    let (_, lease) = story.claims(Purpose::Run);
    story.does(failure(&lease));
    let (_, lease) = story.claims(Purpose::Run);
    story.does(Op::Renew(RenewItem::new(lease.guard(), TTL)));
    story.gets();
    story.lapse();
    let (_, rescuer) = story.claims(Purpose::Rescue);
    story.does(success(&lease));
    story.does(rescue(&rescuer));
    story.gets();
    story
}

#[test]
fn a_sound_history_has_an_order_also_when_its_calls_overlap() {
    let mut story = long();
    story.is_sound();
    for piece in &mut story.pieces {
        (piece.call, piece.back) = (piece.call.saturating_sub(14), piece.back.map(|b| b + 14));
    }
    story.pieces.reverse();
    story.is_sound();
}

#[test]
fn it_gives_up_rather_than_pass() {
    let story = long();
    assert_eq!(order(&story.start, &story.pieces, 3), Found::Unknown);
    let mut story = Story::new();
    (0..129).for_each(|_| _ = story.gets());
    assert_eq!(order(&story.start, &story.pieces, 10_000), Found::Unknown);
}

#[test]
fn of_two_decisions_on_one_fence_one_is_lost() {
    let mut story = Story::new();
    let (_, lease) = story.claims(Purpose::Run);
    let first = story.does(failure(&lease));
    let second = story.does(success(&lease));
    story.beside(first, second);
    story.is_sound();
    *story.reply(second) = applied(90);
    story.is_stuck_at(second);
}

#[test]
fn a_write_of_what_is_there_already_may_still_come_later() {
    let mut story = Story::new();
    let pause = story.does(Op::Configure(Configure::new("q").pause()));
    let resume = story.does(Op::Configure(Configure::new("q").resume()));
    story.claims(Purpose::Run);
    story.pieces[pause].back = story.pieces[resume].back.map(|back| back + 1);
    story.is_sound();
}

#[test]
fn a_task_is_granted_to_one_claim_at_a_time() {
    let mut story = Story::new();
    let (first, mut lease) = story.claims(Purpose::Run);
    story.is_sound();
    lease.fence = Fence::new(90);
    (lease.run, lease.attempt) = (Some(lease.fence), 1);
    let second = story.push(What::Grant(Claim::new("q", Purpose::Run, 1, TTL, "me"), lease));
    story.is_stuck_at(second);
    story.beside(first, second);
    assert!(matches!(order(&story.start, &story.pieces, 10_000), Found::Nothing { .. }));
}

#[test]
fn a_limit_of_one_lets_one_run() {
    let mut story = Story::new();
    story.claims(Purpose::Run);
    let mut other = Story::new();
    // As a store would answer that does not count slots.
    other.start.settings.limits.insert("g".to_owned(), 2);
    other.model = other.start.clone();
    other.claims(Purpose::Run);
    other.claims(Purpose::Run);
    other.is_sound();
    other.start = story.start;
    other.is_stuck_at(1);
}

#[test]
fn a_stale_decision_is_not_applied() {
    let mut story = Story::new();
    let (_, lease) = story.claims(Purpose::Run);
    story.lapse();
    story.claims(Purpose::Rescue);
    let late = story.does(failure(&lease));
    story.is_sound();
    *story.reply(late) = applied(90);
    story.is_stuck_at(late);
}

#[test]
fn a_fence_is_new_and_greater() {
    for fence in [2, 3] {
        let mut story = Story::new();
        let (_, lease) = story.claims(Purpose::Run);
        assert_eq!(lease.fence, Fence::new(3));
        let ended = story.does(failure(&lease));
        story.is_sound();
        *story.reply(ended) = applied(fence);
        story.is_stuck_at(ended);
    }
}

#[test]
fn a_read_sees_what_was_confirmed_and_nothing_else() {
    let mut story = Story::new();
    let (_, lease) = story.claims(Purpose::Run);
    let early = story.gets();
    story.does(success(&lease));
    let read = story.gets();
    story.is_sound();
    let (before, after) = (story.reply(early).clone(), story.reply(read).clone());
    *story.reply(read) = before.clone();
    story.is_stuck_at(read);
    *story.reply(read) = after.clone();
    *story.reply(early) = after;
    story.is_stuck_at(early);
    // While the commit goes on, either will do, but not first the new and then the old.
    story.beside(2, 1);
    story.is_sound();
    *story.reply(read) = before;
    assert!(matches!(order(&story.start, &story.pieces, 10_000), Found::Nothing { .. }));
}

#[test]
fn replayed_needs_a_first_time() {
    let mut story = Story::new();
    let (_, lease) = story.claims(Purpose::Run);
    let op = success(&lease);
    story.does(op.clone());
    let again = story.does(op);
    assert_eq!(*story.reply(again), Reply::Committed(CommitVerdict::Replayed));
    story.is_sound();
    let again = story.pieces.remove(again);
    story.pieces[1].what = again.what;
    story.is_stuck_at(1);
}

#[test]
fn what_is_not_due_is_not_granted() {
    let mut story = Story::new();
    let later = NewTask::named("w", "kind", "", Delivery::NotAfterLoss);
    story.does(Op::Enqueue(vec![later.with_due(Due::In(Duration::from_secs(9)))]));
    story.does(Op::Shift(9_000));
    let claim = Claim::new("q", Purpose::Run, 1, TTL, "me");
    let (_, lease) = crate::model::grant(&story.model, &claim, "w", Fence::new(90)).expect("due");
    let granted = story.push(What::Grant(claim, lease));
    story.is_sound();
    let shift = story.pieces.remove(1);
    story.is_stuck_at(granted - 1);
    story.pieces.push(Piece { call: 90, back: Some(91), ..shift });
    story.is_stuck_at(granted - 1);
}

#[test]
fn a_lease_that_was_taken_is_not_renewed() {
    let mut story = Story::new();
    let (_, lease) = story.claims(Purpose::Run);
    story.lapse();
    story.claims(Purpose::Rescue);
    let renew = story.does(Op::Renew(RenewItem::new(lease.guard(), TTL)));
    story.is_sound();
    *story.reply(renew) = Reply::Renewed(RenewVerdict::Held { ttl_left: TTL });
    story.is_stuck_at(renew);
}

#[test]
fn a_claim_passes_over_nothing_that_it_could_take() {
    let mut story = Story::new();
    let claim = Claim::new("q", Purpose::Run, 1, TTL, "me");
    story.claims(Purpose::Run);
    let passed = story.push(What::Passed(claim, "t".to_owned()));
    story.is_sound();
    story.pieces.swap(0, passed);
    story.pieces.swap_remove(passed);
    story.is_stuck_at(0);
}

#[test]
fn an_id_is_enqueued_once() {
    let mut story = Story::new();
    let new = || Op::Enqueue(vec![NewTask::named("w", "kind", "", Delivery::NotAfterLoss)]);
    let first = story.does(new());
    let second = story.does(new());
    story.beside(first, second);
    story.is_sound();
    let fence = Fence::new(90);
    *story.reply(second) = Reply::Enqueued(vec![EnqueueVerdict::Enqueued { fence }]);
    story.is_stuck_at(second);
}

#[test]
fn a_task_that_is_there_is_not_gone() {
    let mut story = Story::new();
    let (_, lease) = story.claims(Purpose::Run);
    let ended = story.does(failure(&lease));
    story.is_sound();
    *story.reply(ended) = Reply::Committed(CommitVerdict::Gone);
    story.is_stuck_at(ended);
    *story.reply(ended) = applied(90);
    let read = story.gets();
    *story.reply(read) = Reply::Found(Read::Nothing);
    story.is_stuck_at(read);
}

#[test]
fn a_repeat_of_a_claim_tells_and_does_not_grant() {
    let again = |story: &mut Story, lease: Lease, may_grant| {
        let claim = Claim::new("q", Purpose::Run, 1, TTL, "me");
        story.push(What::Again { claim, lease, may_grant })
    };
    let mut story = Story::new();
    let (_, lease) = story.claims(Purpose::Run);
    again(&mut story, lease.clone(), false);
    story.is_sound();
    let ended = story.does(failure(&lease));
    let told = again(&mut story, lease.clone(), false);
    story.is_stuck_at(told);
    story.beside(told, ended);
    story.is_sound();
    // Unless the first call never arrived.
    let mut story = Story::new();
    let told = again(&mut story, lease.clone(), true);
    story.is_sound();
    story.pieces.clear();
    again(&mut story, lease, false);
    story.is_stuck_at(told);
}

#[test]
fn an_unseen_commit_took_effect_or_did_not_and_only_after_its_call() {
    let story = |reads: &[State]| {
        let mut story = Story::new();
        let (_, lease) = story.claims(Purpose::Run);
        let before = story.gets();
        let commit = story.does(failure(&lease));
        let after = story.gets();
        let (leased, waiting) = (story.reply(before).clone(), story.reply(after).clone());
        story.unseen(commit);
        story.pieces.pop();
        for read in reads {
            let at = story.gets();
            *story.reply(at) =
                if *read == State::Waiting { waiting.clone() } else { leased.clone() };
        }
        (story, before, waiting)
    };
    let (run, waits) = (State::Leased(Purpose::Run), State::Waiting);
    for reads in [&[run, run][..], &[run, waits], &[waits, waits], &[]] {
        story(reads).0.is_sound();
    }
    story(&[waits, run]).0.is_stuck_at(4);
    let (mut early, before, waiting) = story(&[waits]);
    *early.reply(before) = waiting;
    early.is_stuck_at(before);
}

#[test]
fn an_unseen_claim_gave_a_fence_that_may_be_seen_later_and_fits_between() {
    let story = |fence: u64| {
        let mut story = Story::new();
        let (first, lease) = story.claims(Purpose::Run);
        story.does(failure(&lease));
        let (unseen, _) = story.claims(Purpose::Run);
        let read = story.gets();
        story.lapse();
        story.claims(Purpose::Rescue);
        if let Reply::Found(Read::Task(task)) = story.reply(read) {
            (task.fence, task.run) = (Fence::new(fence), Some(Fence::new(fence)));
        }
        if let What::Grant(_, lease) = &mut story.pieces[5].what {
            (lease.fence, lease.run) = (Fence::new(20), Some(Fence::new(fence)));
        }
        story.unseen(unseen);
        assert_eq!(first, 0);
        story
    };
    story(9).is_sound();
    // A claim whose fence nobody ever saw explains what follows as well.
    let mut unread = story(9);
    unread.pieces.remove(3);
    unread.is_sound();
    // The rescuer's fence is 20, so that the run's was below it, and above its last, 4.
    story(4).is_stuck_at(3);
    story(30).is_stuck_at(5);
    // Never called, it explains nothing.
    let mut missing = story(9);
    missing.pieces.remove(2);
    missing.is_stuck_at(2);
}

#[test]
fn an_unseen_renew_may_have_kept_the_lease() {
    let story = |renewed: bool| {
        let mut story = Story::new();
        let (_, lease) = story.claims(Purpose::Run);
        story.does(Op::Shift(500));
        let op = Op::Renew(RenewItem::new(lease.guard(), TTL));
        let renew = if renewed { Some(story.does(op.clone())) } else { None };
        story.does(Op::Shift(600));
        let held = story.does(Op::Renew(RenewItem::new(lease.guard(), TTL)));
        match renew {
            Some(renew) => story.unseen(renew),
            None => _ = story.push(What::Maybe(op)),
        }
        (story, held)
    };
    story(true).0.is_sound();
    story(false).0.is_sound();
    let (mut missing, held) = story(true);
    missing.pieces.remove(2);
    missing.is_stuck_at(held - 1);
}
