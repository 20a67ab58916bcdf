//! The storage contract as data: one [`Clause`] for each numbered rule.
//!
//! A clause is one rule that every backend, or the worker, keeps. `docs/contract.md` tells them
//! with their background and is checked against this table line by line, so the two cannot
//! disagree. Code and conformance cases cite a clause by its id, as in `// LH-COMMIT-1`; a case
//! that finds a fault names the clause that was broken.
//!
//! An id is never renumbered, only retired, and a retired id is never given again.

use std::fmt;

/// One numbered rule of the storage contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Clause {
    /// The id, `LH-FAMILY-n`.
    pub id: &'static str,
    /// Who has to keep the rule.
    pub level: Level,
    /// How the rule is checked.
    pub proof: Proof,
    /// The rule itself, one line of Markdown.
    pub text: &'static str,
}

/// Who has to keep a clause; displays as it stands in `docs/contract.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// Every backend.
    Core,
    /// Every backend that declares the feature of this name; all others refuse it (LH-GEN-9).
    Extended(&'static str),
    /// The worker, on any backend.
    Worker,
}

/// The ways in which a clause is checked; displays as their letters, in the order N, O, M, K.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Proof {
    /// N: named cases, each a staged situation.
    pub named: bool,
    /// O: every order of the steps of a race is played.
    pub orders: bool,
    /// M: random histories are compared with the reference model, also in concurrent lanes.
    pub model: bool,
    /// K: a soak with real processes and real faults.
    pub soak: bool,
}

impl Proof {
    /// Reads the table's letters; runs at compile time only, so a wrong letter breaks the build.
    const fn of(letters: &str) -> Self {
        let mut proof = Self { named: false, orders: false, model: false, soak: false };
        let letters = letters.as_bytes();
        let mut at = 0;
        while at < letters.len() {
            match letters[at] {
                b'N' => proof.named = true,
                b'O' => proof.orders = true,
                b'M' => proof.model = true,
                b'K' => proof.soak = true,
                _ => panic!("a proof is written with the letters N, O, M and K"),
            }
            at += 1;
        }
        proof
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Core => f.write_str("Core"),
            Self::Extended(feature) => write!(f, "Extended {feature}"),
            Self::Worker => f.write_str("Worker"),
        }
    }
}

impl fmt::Display for Proof {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [(self.named, "N"), (self.orders, "O"), (self.model, "M"), (self.soak, "K")];
        letters.iter().filter(|(on, _)| *on).try_for_each(|(_, letter)| f.write_str(letter))
    }
}

/// The clause with this id, or none when no clause in force has it.
///
/// # Examples
///
/// ```
/// use leasehold_core::clause;
///
/// assert_eq!(clause::find("LH-GEN-1"), Some(&clause::GEN_1));
/// assert_eq!(clause::find("LH-GEN-0"), None);
/// ```
pub fn find(id: &str) -> Option<&'static Clause> {
    ALL.iter().find(|clause| clause.id == id)
}

/// Makes the constants and the table from one list, so that the two cannot differ.
macro_rules! clauses {
    ($(
        $name:ident $id:literal $level:ident $(($feature:literal))? $proof:ident
            $text:literal;
    )+) => {
        $(
            #[doc = $text]
            pub const $name: Clause = Clause {
                id: $id,
                level: Level::$level $(($feature))?,
                proof: Proof::of(stringify!($proof)),
                text: $text,
            };
        )+

        /// Every clause in force, in the order of `docs/contract.md`.
        pub const ALL: &[Clause] = &[$($name),+];

        #[cfg(test)]
        const NAMES: &[&str] = &[$(stringify!($name)),+];
    };
}

clauses! {
    GEN_1 "LH-GEN-1" Core M
        "Each item of a write verb is one atomic step, and every history of one queue MUST be \
         linearizable by the model's `step`.";
    GEN_2 "LH-GEN-2" Core N
        "A batch is answered in order with one reply for each item, and an empty batch does \
         nothing. The items of renew and commit are independent of each other; for enqueue see \
         LH-ENQ-7.";
    GEN_3 "LH-GEN-3" Core K
        "A confirmed effect MUST survive every fault that the declared durability class covers. \
         The class states two things: whether effects survive a host crash, and whether they \
         survive a failover (no, yes, or yes by waiting). After a fault beyond the class the \
         queue stands as after some earlier prefix of its steps: fences that were lost answer \
         Stale, Lost or Gone, runs committed after that prefix run again, and limits may be \
         exceeded until the lost leases would have ended. The pages in docs/backends MUST say \
         this for each fault.";
    GEN_4 "LH-GEN-4" Core N
        "`Unavailable` leaves open whether the call was applied, but it was so at most once. \
         Every verb can be called again: enqueue within `id_memory` (LH-ENQ-9), claim by \
         LH-CLAIM-9, commit by LH-COMMIT-4.";
    GEN_5 "LH-GEN-5" Core N
        "To drop the future of a verb means the same as `Unavailable`, and the handle MUST stay \
         usable.";
    GEN_6 "LH-GEN-6" Core N
        "Payload and headers MUST come back with every bit unchanged: empty ones, NUL bytes, in a \
         payload bytes that are not UTF-8, and those of the largest size.";
    GEN_7 "LH-GEN-7" Core N
        "A name may be any non-empty UTF-8 text without control characters, up to the stated \
         length. What happens in one queue MUST NOT touch another.";
    GEN_8 "LH-GEN-8" Core N
        "Whoever loses a race is told so by a value and never by an error.";
    GEN_9 "LH-GEN-9" Core N
        "A request that needs an undeclared feature MUST be refused as `Unsupported` before it has \
         any effect.";
    GEN_10 "LH-GEN-10" Core N
        "A backend reports the major version of the contract that it keeps, and that version MUST \
         be checked.";

    TIME_1 "LH-TIME-1" Core N
        "A comparison of times MUST use the store's clock and no other.";
    TIME_2 "LH-TIME-2" Core N
        "Each item is decided by one reading of the clock, taken once its locks are held. A \
         reading from before that may do no more than narrow the search.";
    TIME_3 "LH-TIME-3" Core N
        "The clock resolves 1 ms or finer. A task due at t is claimable at t, and a lease that \
         lasts until t has lapsed at t.";
    TIME_4 "LH-TIME-4" Core OK
        "Every safety clause MUST hold under any clock, also one that jumps, stands still or runs \
         backwards.";
    TIME_5 "LH-TIME-5" Core N
        "A claim sets `until` to now + ttl, a renew to max(`until`, now + ttl). The reply gives \
         `ttl_left` as a duration.";
    TIME_6 "LH-TIME-6" Core N
        "A delay is at most 100 years and a due time at most the year 9999. Core checks both in \
         the same way for every backend, and what lies beyond is `Invalid`. A greater snooze from \
         a handler is clamped, and that is noted.";

    FENCE_1 "LH-FENCE-1" Core O
        "Every enqueue, claim and applied commit MUST give the task a fence greater than any that \
         its id ever had, across purge, delete, a re-used id, redrive and restart. `born` is the \
         fence of the enqueue. One value may serve every task of a call, so a run, a slot and a \
         claim record are named by the pair (task, fence) and never by the fence alone.";
    FENCE_2 "LH-FENCE-2" Core O
        "A write that shows any other fence, a late success (LH-LATE-1) apart, MUST change \
         nothing: not state, due, counters, slot, unique key, history or `shown`.";
    FENCE_3 "LH-FENCE-3" Core M
        "The fences of one task strictly grow in the order in which they take effect. The handler \
         is given its fence, to pass on downstream.";
    FENCE_4 "LH-FENCE-4" Core O
        "Holder, attempt, time and state MUST NOT stand in for the fence.";
    FENCE_5 "LH-FENCE-5" Core N
        "Fences are exact up to and including 2^53 + 1, or they are compared as text.";
    FENCE_6 "LH-FENCE-6" Core O
        "The value is drawn with the item's locks already held. To take values from blocks that a \
         source reserves for each connection is forbidden, unless the result is raised to at \
         least the task's own fence + 1.";
    FENCE_7 "LH-FENCE-7" Core K
        "Where the durability class admits loss, a new fence is max(last + 1, the store's clock in \
         microseconds), so that no fence handed out before a loss is handed out a second time.";

    ENQ_1 "LH-ENQ-1" Core N
        "A new id becomes a Waiting task with every field as given (a due time in the past apart, \
         LH-ENQ-3), counters at 0, a new fence that is its `born`, and no run.";
    ENQ_2 "LH-ENQ-2" Core N
        "An id that exists in any state, or is remembered (LH-ENQ-9), answers Duplicate(cause Id, \
         ref, state or left), and nothing changes. The id is looked at before the unique key.";
    ENQ_3 "LH-ENQ-3" Core N
        "A task due in the past is ready now but overtakes nobody: its due time is stored as \
         max(due, time of enqueue). A task due in years MUST NOT expire.";
    ENQ_4 "LH-ENQ-4" Core N
        "Once Enqueued is answered, every other handle can claim the task.";
    ENQ_5 "LH-ENQ-5" Core N
        "What is too large or not valid is `Invalid` and has no effect.";
    ENQ_6 "LH-ENQ-6" Extended("tx") N
        "An enqueue in the caller's transaction appears only when that transaction commits, and a \
         rollback leaves no key behind.";
    ENQ_7 "LH-ENQ-7" Core N
        "An enqueue call is for one queue, and takes effect as a whole or not at all: a single \
         `Invalid` item refuses the whole call before any effect, and a fault of the store leaves \
         all of it or none. A Duplicate is a reply and no failure.";
    ENQ_8 "LH-ENQ-8" Extended("follow-ups") N
        "A worker's change of any sort may bring along up to `follow_max` (at least 100) tasks, \
         all for the parent's queue. Inside the step the guard comes first, then the end of the \
         parent with its key and slot, then the follow-ups as they were given. Each of them \
         answers Enqueued or Duplicate(ref) inside Applied, and the commit stands in spite of a \
         Duplicate. They appear if and only if the commit is Applied, be it late or overdue; a \
         Replayed or Stale one makes none. To use the parent's own id is `Invalid`.";
    ENQ_9 "LH-ENQ-9" Core N
        "An id whose task left, by success, cancel, purge or delete, MUST be remembered for \
         `id_memory` with its last `shown`, decision id and state: enqueue then answers \
         Duplicate(left), a repeated commit Replayed, and get what is remembered. The time is \
         set per queue and is 60 s by default; 0 is allowed, and the docs of that queue then say \
         so.";
    ENQ_10 "LH-ENQ-10" Core N
        "A backend's bounds state every rule of size and name. Core checks them when the handler \
         adds a follow-up, so that the handler meets the error and the commit never does.";

    CLAIM_1 "LH-CLAIM-1" Core N
        "A Run claim takes only Waiting tasks with `max(due, held_until) <= now` (LH-OPER-11, \
         LH-UNIQ-3).";
    CLAIM_2 "LH-CLAIM-2" Core MK
        "However many claims compete for a task, it MUST be granted to at most one of them.";
    CLAIM_3 "LH-CLAIM-3" Core N
        "A quiet queue serves by priority (9 first), then by ready time, then by order of enqueue \
         (within one call, the order of the replies). Under concurrency a call never passes over \
         a task that is claimable throughout for a worse one. How many due tasks one call admits \
         may be bounded, but this MUST NOT leave a claim empty with `more = false` (LH-CLAIM-4).";
    CLAIM_4 "LH-CLAIM-4" Core M
        "A claim grants at most n. To answer fewer than n leases with `more = false`, each of the \
         other tasks MUST have been, at some moment of the call, either not claimable or touched \
         by an overlapping call, or by an open transaction that held the task or a slot of its \
         limit key. Otherwise `more = true`, and the caller asks again at once. When a stranger \
         holds a lock, no task but the locked one is delayed.";
    CLAIM_5 "LH-CLAIM-5" Core N
        "A Run claim grants in one step: the new fence, run = that fence, attempt + 1, `until` and \
         the slot.";
    CLAIM_6 "LH-CLAIM-6" Core N
        "A Run claim never takes a lapsed lease, and a Rescue claim never a Waiting task.";
    CLAIM_7 "LH-CLAIM-7" Core N
        "A paused queue grants no Run, while Rescue, renew and commit go on.";
    CLAIM_8 "LH-CLAIM-8" Core N
        "Leases whose claim reply was lost lapse, and are then recovered.";
    CLAIM_9 "LH-CLAIM-9" Extended("replay") N
        "A claim names (claimer, seq). The claimer is a random id that one claiming loop keeps; \
         its seq is one higher for each new claim, and it has no two claims open at a time. A \
         recorded seq MUST NOT grant again: a repeat returns those of its (task, fence) pairs \
         that are still current and unlapsed and whose slot, if any, still stands, perhaps none, \
         with `ttl_left` measured now, and does so in a paused queue too. A smaller seq gets an \
         empty reply marked `superseded`. The record is kept for at least an hour and until its \
         pairs have ended; nothing need be recorded for a claim that granted nothing. LH-CLAIM-4 \
         does not apply to a repeat.";
    CLAIM_10 "LH-CLAIM-10" Extended("kinds") N
        "A claim that asks for kinds is granted tasks of those kinds only.";
    CLAIM_11 "LH-CLAIM-11" Core N
        "If a record is broken but the store knows its version, it is granted as raw bytes marked \
         Corrupt, and the worker buries it. If its version is newer it is skipped, counted and \
         not touched. In either case it does not vanish and does not block the batch. What to do \
         about a payload that its handler cannot read is the worker's decision.";
    CLAIM_12 "LH-CLAIM-12" Core N
        "The cost of a claim MUST NOT depend on how many tasks wait behind a full limit key or \
         for a far due time.";

    RENEW_1 "LH-RENEW-1" Core N
        "A lease that is current and has not lapsed is Held, and a renew never shortens it.";
    RENEW_2 "LH-RENEW-2" Core O
        "A lease that is not current, has lapsed or was revoked answers Lost(Lapsed, \
         Taken(fence), Cancelled, Revoked, Decided or Gone), without effect. A lease that has \
         lapsed by the reading that decides (LH-TIME-2) MUST NOT be revived, though nobody may \
         have taken it. It is still worth committing any finished decision after Lapsed \
         (LH-COMMIT-7), and a success after Taken (LH-LATE-1).";
    RENEW_3 "LH-RENEW-3" Core N
        "The step that extends the lease extends its slot as well.";
    RENEW_4 "LH-RENEW-4" Core N
        "A renew leaves every counter, the fence, the attempt and the due time as they are.";
    RENEW_5 "LH-RENEW-5" Core N
        "One lost item does no harm to the other items of its batch.";
    RENEW_6 "LH-RENEW-6" Core N
        "Lost(Cancelled) tells the holder that an operator cancelled the task.";
    RENEW_7 "LH-RENEW-7" Core N
        "A renew MUST NOT wait for a foreign lock. An item that another transaction holds answers \
         Busy, which means unknown, ask again; the other items are renewed.";
    RENEW_8 "LH-RENEW-8" Extended("limits") O
        "The renew of a task with a limit key is Held only while the slot of (task, fence) \
         stands. Once swept, a slot MUST NOT be given back, whatever the clock says.";
    RENEW_9 "LH-RENEW-9" Core N
        "A renew may carry a note of bounded bytes (progress or a checkpoint), which is stored if \
         and only if the item is Held. A rescue keeps the note, a redrive drops it.";

    COMMIT_1 "LH-COMMIT-1" Core O
        "A commit MUST be applied if and only if its fence is current or it is a late success \
         (LH-LATE-1), Conflict and the errors of LH-COMMIT-3 apart.";
    COMMIT_2 "LH-COMMIT-2" Core N
        "All effects of a commit are one step: state, counters, due, result, failure record, slot, \
         unique key and new fence.";
    COMMIT_3 "LH-COMMIT-3" Core O
        "Each item gets exactly one answer, and a true one: Applied(overdue?, late?, follow-ups), \
         Replayed, Stale(fence and state now), Conflict(ref) or Gone, or else an error that \
         concerns this item only (`Invalid`, `Unsupported`) and has no effect. From Stale it \
         follows that this call changed nothing; a worker whose first try got no answer then \
         reports unknown, never lost.";
    COMMIT_4 "LH-COMMIT-4" Core O
        "Every decision carries a random 128-bit id made by the caller, which is stored beside \
         `shown`, the fence of the last applied commit. A guard equal to `shown` with the same \
         decision id is Replayed: contents are not compared, and nothing takes effect twice.";
    COMMIT_5 "LH-COMMIT-5" Core O
        "The answer Replayed lasts through later claims, at least until another commit is applied.";
    COMMIT_6 "LH-COMMIT-6" Core N
        "A fence that was shown before with another decision id is Stale, and the first decision \
         stands.";
    COMMIT_7 "LH-COMMIT-7" Core O
        "A commit is overdue when its guard is current although the lease has passed. Every \
         change of its holder is then Applied(overdue), and budgets count as if it were \
         punctual; an operator's change is Applied without the mark.";
    COMMIT_8 "LH-COMMIT-8" Core O
        "The answer is Gone when there is no task under the id and none is remembered, or when the \
         guard lies below the task's `born`. A remembered id answers Replayed, or else Stale(last \
         `shown`, left).";
    COMMIT_9 "LH-COMMIT-9" Core N
        "Every Stale tells the fence and state of now, and is counted (LH-OBS-1).";
    COMMIT_10 "LH-COMMIT-10" Core N
        "A finished task MUST NOT be changed by anything but an operator, a late success \
         (LH-LATE-1) or purge.";
    COMMIT_11 "LH-COMMIT-11" Core N
        "A call of renew or commit that names one task twice is `Invalid` as a whole. No order is \
         promised between the items of a call.";

    LATE_1 "LH-LATE-1" Core O
        "A commit is late when its fence equals `run` and is no longer current because a Rescue \
         claim came after. A success that is late MUST be Applied(late) in three places: under \
         the undecided rescue, in Waiting after it, and in Dead(Lost). This ends when the next \
         run starts or an operator acts on the task. An edit is such an act; pause, limits and \
         repair are not.";
    LATE_2 "LH-LATE-2" Core O
        "Nothing but a success has this right: a late failure, snooze, release or renew is Stale \
         or Lost.";
    LATE_3 "LH-LATE-3" Core O
        "A rescue that was pending is answered Stale afterwards. A dead letter turns into \
         Succeeded and is off the dead list by the same step. If the slot has ended it is not \
         freed a second time, and the unique key is freed only while it is still this task's own.";
    LATE_4 "LH-LATE-4" Core O
        "A run loses this right once it has committed. In a strict mode, which takes an ADR, late \
         success is off, and LH-LATE-1 then reads Stale for Applied(late).";
    LATE_5 "LH-LATE-5" Core N
        "Every Applied commit of a worker or an operator sets run = none; that of a rescue alone \
         keeps it.";

    RETRY_1 "LH-RETRY-1" Core N
        "A failure with `failures < max_retries` puts the task in Waiting at now + delay, with \
         failures + 1 and the failure's record added.";
    RETRY_2 "LH-RETRY-2" Core N
        "A failure with no retry left makes the task Dead(Exhausted).";
    RETRY_3 "LH-RETRY-3" Core N
        "A failure that is not retryable makes the task Dead(Rejected) and leaves the budget as it \
         is.";
    RETRY_4 "LH-RETRY-4" Core N
        "A retry keeps id, payload, time of enqueue and unique key. The attempt MUST NOT be reset.";
    RETRY_5 "LH-RETRY-5" Core N
        "History is bounded by number: the first and the newest records are kept, and those \
         dropped are counted.";

    GIVE_1 "LH-GIVE-1" Core N
        "A release puts the task in Waiting with its due time unchanged and spends no budget. It \
         is for shutdown; a task of an unknown kind is snoozed.";
    GIVE_2 "LH-GIVE-2" Core N
        "A snooze puts the task in Waiting at now + delay and spends no budget.";
    GIVE_3 "LH-GIVE-3" Core N
        "Both clear the lease, the slot and every deadline of the run.";

    LAPSE_1 "LH-LAPSE-1" Core O
        "A Rescue claim MUST take only leases with `until <= now`. Live leases are safe from it, \
         the claimer's own as well.";
    LAPSE_2 "LH-LAPSE-2" Core N
        "A Rescue claim gives the rescuer a new fence and lease, and keeps `run`.";
    LAPSE_3 "LH-LAPSE-3" Core O
        "A Rescue lease that has lapsed can be taken over, and what the first rescuer decides is \
         then Stale.";
    LAPSE_4 "LH-LAPSE-4" Core O
        "A decision that is dropped costs a delay and MUST NOT cost the task.";
    LAPSE_5 "LH-LAPSE-5" Core N
        "No rescue depends on asking a process, a host or a heartbeat.";
    LAPSE_6 "LH-LAPSE-6" Core N
        "To recover n lapsed tasks takes a bounded number of calls, and a poisonous task does not \
         block the others.";
    LAPSE_7 "LH-LAPSE-7" Core N
        "Two rescuers of one lapse make one decision, and it is counted once.";
    LAPSE_8 "LH-LAPSE-8" Core N
        "The task record is the source of every index. Entries of ready, lapse, slot, key and \
         dead that are missing or surplus MUST be found and mended in bounded steps within the \
         stated interval, and counted, while fence, counters and `until` stay untouched. A slot \
         under `held_until` is no surplus (LH-OPER-11).";
    LAPSE_9 "LH-LAPSE-9" Core N
        "It is counted how often a rescue was taken over. At the 5th takeover and after it, the \
         rescue decides Dead(Lost), and reads neither policy nor payload for that.";

    BUDGET_1 "LH-BUDGET-1" Core O
        "Failures and rescues are two budgets, and one MUST NOT spend the other.";
    BUDGET_2 "LH-BUDGET-2" Core MK
        "No interleaving takes either of them above its limit.";
    BUDGET_3 "LH-BUDGET-3" Core O
        "A snooze, a release, a Stale, a Replayed and a late success spend neither.";
    BUDGET_4 "LH-BUDGET-4" Core N
        "A redrive puts both back to 0.";

    MODE_1 "LH-MODE-1" Core N
        "What follows a lost worker MUST be stated by the caller, `Never` (max_rescues 0) or \
         `UpTo(n)`; the contract has no default. The API has three words for it. At-least-once is \
         `UpTo(n)`. Not-after-loss is `Never` with retries as set. At-most-once is `Never` with \
         max_retries 0, and neither snooze nor release once the handler was entered; before that \
         a shutdown releases and an unknown kind is snoozed.";
    MODE_2 "LH-MODE-2" Core OK
        "Under `Never` a run that ended without any applied decision MUST NOT be followed by \
         another run without an operator: the rescue decides Dead(Lost), and the payload is kept. \
         A decision of the worker itself, punctual or overdue, follows its own rules.";
    MODE_3 "LH-MODE-3" Core K
        "Under `UpTo(n)` the starts are at most 1 + retries + rescues + gives, redrives by an \
         operator apart.";
    MODE_4 "LH-MODE-4" Core N
        "A worker with a `Never` kind MUST refuse to start on a store whose durability class can \
         lose a confirmed claim, unless the kind says `accept_loss`.";

    LIMIT_1 "LH-LIMIT-1" Extended("limits") MK
        "Count the unlapsed slots of the key, with the one in question: at no grant and at no \
         Held renew MUST they be more than the limit of the group allows. At a renew that is the \
         largest limit since its grant.";
    LIMIT_2 "LH-LIMIT-2" Extended("limits") N
        "The claim takes the slot. A task that is blocked stays Waiting, spends nothing, keeps its \
         place and hides no other task.";
    LIMIT_3 "LH-LIMIT-3" Extended("limits") O
        "A slot MUST be freed only by the holder's Applied commit or by the end of its lease; \
         never by Stale, Replayed, Gone or Lost, and never by an operator's change. Slots are \
         members (task, fence) and not a count.";
    LIMIT_4 "LH-LIMIT-4" Extended("limits") O
        "The fence owns the slot; the task does not, and neither does the worker.";
    LIMIT_5 "LH-LIMIT-5" Extended("limits") N
        "A limit that is lowered revokes nothing already granted.";
    LIMIT_6 "LH-LIMIT-6" Extended("limits") N
        "Polling alone is enough to claim a slot that was freed.";
    LIMIT_7 "LH-LIMIT-7" Extended("limits") O
        "When an operator took the lease of a running task away, its slot is held until \
         `held_until` (LH-OPER-11).";

    UNIQ_1 "LH-UNIQ-1" Extended("unique") MK
        "A queue MUST have at most one unfinished task for each unique key.";
    UNIQ_2 "LH-UNIQ-2" Extended("unique") N
        "A second enqueue answers Duplicate(cause Key, ref), within one batch too.";
    UNIQ_3 "LH-UNIQ-3" Extended("unique") O
        "The step that finishes the task frees its key, a cancel too, and nobody else does. If \
         the last holder of a key has a `held_until` in the future, the next task to take the key \
         inherits it: the answer is Enqueued, and the task is ready no sooner.";
    UNIQ_4 "LH-UNIQ-4" Extended("unique") N
        "A redrive while another unfinished task has the key is Conflict(ref), without effect. The \
         former key of the task itself is no conflict.";
    UNIQ_5 "LH-UNIQ-5" Extended("unique") N
        "A retry, a snooze, a release and a rescue that puts the task back all keep the key; \
         Dead(Lost) frees it (LH-UNIQ-3).";

    OPER_1 "LH-OPER-1" Core O
        "Every intervention MUST show the fence that was seen; when that is not the current one it \
         is Stale, without effect.";
    OPER_2 "LH-OPER-2" Core O
        "One that is applied gives a new fence and ends the right to a late success, so that the \
         worker, the rescuer and other operators are Stale from then on.";
    OPER_3 "LH-OPER-3" Core N
        "A cancel makes the task Cancelled, and a running handler learns of it by renew.";
    OPER_4 "LH-OPER-4" Core N
        "A requeue means run now. In Waiting it sets the due time. In Leased(Run) it MUST say \
         `revoke`. In Leased(Rescue) it needs no `revoke`, and it ends both the rescuer's decision \
         and the run's right to a late success (LH-OPER-2).";
    OPER_5 "LH-OPER-5" Core N
        "An edit of payload, priority, due or policy is for Waiting and Dead only, and `Invalid` \
         elsewhere.";
    OPER_6 "LH-OPER-6" Core N
        "An operator's bury (other tools say kill) makes the task Dead(Operator).";
    OPER_7 "LH-OPER-7" Core N
        "A delete is for any state, and leaves nothing behind but the fence source, the remembered \
         id and what LH-OPER-11 keeps.";
    OPER_8 "LH-OPER-8" Core O
        "A delete or requeue that falls between a rescue's claim and its decision wins, and the \
         decision is dropped.";
    OPER_9 "LH-OPER-9" Extended("bulk") N
        "An intervention by filter is bounded, can be resumed, can be run dry, and counts applied, \
         stale and gone.";
    OPER_10 "LH-OPER-10" Core N
        "The history records who acted and why (actor and reason).";
    OPER_11 "LH-OPER-11" Core O
        "An unlapsed Run lease may be taken away by an operator's commit (cancel, bury, requeue, \
         delete). Then `held_until` is the end of that lease, and is never extended. Before it \
         has passed the slot stays counted, and no Run claim takes this task, also after a \
         redrive or requeue: it is ready at `max(due, held_until)`. The record stays as long: a \
         delete of any task whose own or inherited `held_until` has not passed is Applied as \
         Cancelled, and the record leaves then; purge and a retention of 0 wait too.";

    DEAD_1 "LH-DEAD-1" Core N
        "A dead letter keeps its payload, policy, reason, counters and history whole.";
    DEAD_2 "LH-DEAD-2" Core O
        "A task becomes a dead letter in the very step that leaves the lease, with one entry for \
         each burial.";
    DEAD_3 "LH-DEAD-3" Core N
        "A cap MUST NOT evict a dead letter. Retention goes by age only, is set by \
         configuration, is carried out by purge, and is counted.";
    DEAD_4 "LH-DEAD-4" Core N
        "Dead letters can be listed by kind, reason and time, with a cursor that neither skips nor \
         repeats an entry that did not change.";
    DEAD_5 "LH-DEAD-5" Core O
        "A redrive keeps the id, and works once for each fence seen.";
    DEAD_6 "LH-DEAD-6" Core N
        "Nothing but an operator or retention discards a dead letter. Retention of Dead(Lost), if \
         it is set at all, is at least 24 h.";

    READ_1 "LH-READ-1" Core M
        "A get MUST see every write that was confirmed.";
    READ_2 "LH-READ-2" Core N
        "Counts go by queue and state: ready, scheduled, leased, lapsed and the finished kinds. \
         They are exact when the queue has been quiet for a stated lag of at most 1 s, they sum \
         to the tasks, and finished tasks make them no dearer. Counts that are finer are bounded \
         and marked as estimates.";
    READ_3 "LH-READ-3" Core N
        "To read MUST change nothing.";
    READ_4 "LH-READ-4" Core N
        "A list is ordered so that an unchanged entry keeps its place, and its cursor is opaque. \
         Such an entry is neither skipped nor repeated. As long as a cursor is given, a page may \
         be short.";

    PURGE_1 "LH-PURGE-1" Core N
        "Purge removes only finished tasks whose retention and `held_until` have passed, at most \
         max of them, and counts them. A task that was deleted has a retention of 0.";
    PURGE_2 "LH-PURGE-2" Core N
        "Purge leaves nothing behind but the fence source and the remembered id (LH-ENQ-9).";

    CTL_1 "LH-CTL-1" Core N
        "Pause and limits are durable and hold in the whole cluster: a claim that begins after a \
         pause was confirmed grants no Run (LH-CLAIM-7).";

    OBS_1 "LH-OBS-1" Core N
        "Each queue has counters for: stale by verb, overdue, late, replayed, takeovers, skipped \
         newer records, lapsed, rescued, buried, blocked by limit, repaired.";
    OBS_2 "LH-OBS-2" Worker N
        "A Stale is logged with both fences and MUST NOT be reported as success. Hooks speak once \
         the verdict is known.";

    WORK_1 "LH-WORK-1" Worker N
        "Nothing starts when its lease is over. A process has one attempt of a task at a time. A \
         commit survives cancel and shutdown.";

    TX_1 "LH-TX-1" Extended("tx") N
        "The completing commit is the last statement of the caller's transaction. Its reply is \
         provisional until that transaction has committed, and hooks speak after that. If its end \
         is unknown, the commit MUST NOT be repeated outside the transaction: the task is read, \
         and its `shown` and decision id tell.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_unique() {
        let ids: HashSet<_> = ALL.iter().map(|clause| clause.id).collect();
        assert_eq!(ids.len(), ALL.len());
    }

    #[test]
    fn ids_are_well_formed_and_match_their_constants() {
        for (clause, name) in ALL.iter().zip(NAMES) {
            let (family, number) = split(clause.id).expect(clause.id);
            assert!(family.bytes().all(|b| b.is_ascii_uppercase()), "{}", clause.id);
            assert_eq!(*name, format!("{family}_{number}"));
        }
    }

    #[test]
    fn families_stand_together_and_numbers_grow() {
        let mut last: HashSet<&str> = HashSet::new();
        for pair in ALL.windows(2) {
            let (before, b) = split(pair[0].id).expect(pair[0].id);
            let (after, a) = split(pair[1].id).expect(pair[1].id);
            last.insert(before);
            assert!(if before == after { b < a } else { !last.contains(after) }, "{}", pair[1].id);
        }
    }

    #[test]
    fn texts_are_one_line_and_cite_clauses_that_exist() {
        for clause in ALL {
            assert!(!clause.text.contains(['\n', '[', ']']), "{}", clause.id);
            assert!(!clause.text.contains("  ") && clause.text.ends_with('.'), "{}", clause.id);
            for word in clause.text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-') {
                assert!(!word.starts_with("LH-") || find(word).is_some(), "{}: {word}", clause.id);
            }
        }
    }

    #[test]
    fn every_clause_is_checked_somehow() {
        assert!(ALL.iter().all(|clause| clause.proof != Proof::of("")));
    }

    #[test]
    fn find_gives_each_clause_and_nothing_else() {
        for clause in ALL {
            assert_eq!(find(clause.id), Some(clause));
        }
        for id in ["", "LH-GEN", "LH-GEN-0", "LH-GEN-11", "lh-gen-1", "GEN-1"] {
            assert_eq!(find(id), None, "{id}");
        }
    }

    #[test]
    fn levels_and_proofs_display_as_in_the_document() {
        assert_eq!(format!("{}, {}", CLAIM_2.level, CLAIM_2.proof), "Core, MK");
        assert_eq!(format!("{}, {}", ENQ_8.level, ENQ_8.proof), "Extended follow-ups, N");
        assert_eq!(format!("{}, {}", WORK_1.level, WORK_1.proof), "Worker, N");
        assert_eq!(Proof::of("KMON").to_string(), "NOMK");
    }

    fn split(id: &str) -> Option<(&str, u32)> {
        let (family, number) = id.strip_prefix("LH-")?.split_once('-')?;
        let n: u32 = number.parse().ok()?;
        (!family.is_empty() && n > 0 && n.to_string() == number).then_some((family, n))
    }
}
