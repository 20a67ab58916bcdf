//! What a history does: few ids, keys and claimers, so that they meet often.

use std::time::Duration;

use leasehold_core::decide::{self, Intervention, Operator, Outcome, Retry};
use leasehold_core::{
    Backoff, Claim, ClaimerId, CommitItem, Configure, DeadReason, Delivery, Due, Edit, Enqueue,
    Entered, Filter, Guard, Jitter, Keep, Lease, LimitKey, NewTask, OnLeased, Policy, Priority,
    Purpose, RenewItem, Retention, RetryPolicy, State, Status, StoredTask, Timestamp, Unknown,
};

use crate::pair::{Both, QUEUE};
use crate::random::Random;

const IDS: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];
const KINDS: [&str; 2] = ["x", "y"];

/// To read everything takes longer than a verb; most differences show in its answer.
const COMPARE_EVERY: usize = 4;

struct Play {
    random: Random,
    both: Both,
    /// Every lease that was granted, current or not.
    leases: Vec<Lease>,
    /// Tasks as they were seen at some time, for operators who act late.
    seen: Vec<StoredTask>,
    /// Commits that were sent, to be repeated.
    sent: Vec<CommitItem>,
    claimers: [(ClaimerId, u64); 2],
    /// Whether the clock goes back at times. Memory keeps what a unique key's next holder
    /// inherits apart from the tasks, SQLite reads it from them: after a step back both are
    /// right in different ways, so operators then leave running holders of unique keys alone.
    backward: bool,
}

pub async fn history(seed: u64, verbs: usize) {
    let mut random = Random::new(seed);
    let backward = random.chance(40);
    let both = Both::new().await;
    let claimers = [(ClaimerId::from_bits(1), 0), (ClaimerId::from_bits(2), 0)];
    let (leases, seen, sent) = (Vec::new(), Vec::new(), Vec::new());
    let mut play = Play { random, both, leases, seen, sent, claimers, backward };
    let settings = Configure::new(QUEUE).with_limit("g", 1);
    play.both.configure(settings.with_id_memory(Duration::from_millis(500))).await;
    for verb in 1..=verbs {
        play.verb().await;
        if verb % COMPARE_EVERY == 0 || verb == verbs {
            let filter = play.filter();
            play.both.compare(&IDS, &filter).await;
            play.both.check_residue().await;
        }
    }
}

impl Play {
    async fn verb(&mut self) {
        match self.random.below(100) {
            0..20 => self.enqueue().await,
            20..42 => self.claim().await,
            42..48 => self.renew().await,
            48..70 => self.finish_runs().await,
            70..73 => self.repeat_commit().await,
            73..84 => self.intervene().await,
            84..88 => self.configure().await,
            88..90 => self.both.purge().await,
            _ => self.shift().await,
        }
    }

    async fn enqueue(&mut self) {
        let tasks = (0..=self.random.below(3)).map(|_| self.new_task()).collect();
        self.both.enqueue(Enqueue::new(QUEUE, tasks)).await;
    }

    fn new_task(&mut self) -> NewTask {
        let random = &mut self.random;
        let delivery = random.pick(&[
            Delivery::AtLeastOnce { max_rescues: 1 },
            Delivery::NotAfterLoss,
            Delivery::AtMostOnce,
        ]);
        let payload = random.pick(&[&b""[..], &b"\0\xff"[..], &b"text"[..]]);
        let mut new = NewTask::named(random.pick(&IDS), random.pick(&KINDS), payload, delivery)
            .with_retry(retry(random))
            .with_priority(Priority::new(random.pick(&[0, 4, 4, 9])));
        if random.chance(30) {
            new = new.with_header("trace", "\0\u{1f980}");
        }
        new = match random.below(6) {
            0 => new.with_due(Due::In(Duration::from_millis(random.below(2_000)))),
            1 => new.with_due(Due::At(Timestamp::from_millis(5))),
            _ => new,
        };
        if random.chance(60) {
            // A group without a number is Invalid now and then.
            let group = if random.chance(3) { "none" } else { "g" };
            new = new.with_limit(LimitKey::new(group, random.pick(&["k", "l"])));
        }
        if random.chance(35) {
            new = new.with_unique(random.pick(&["u", "v"]));
        }
        if random.chance(40) {
            new = new.with_retention(retention(random));
        }
        new
    }

    async fn claim(&mut self) {
        let ttl = Duration::from_millis(self.random.pick(&[100, 500, 1_000, 5_000]));
        let claim = |purpose, max| Claim::new(QUEUE, purpose, max, ttl, "holder");
        // Which of several lapsed leases come first is not ordered, so all are asked for.
        let mut request = match self.random.chance(70) {
            true => {
                let max = 1 + self.random.below(4);
                claim(Purpose::Run, usize::try_from(max).expect("small"))
            }
            false => claim(Purpose::Rescue, 100),
        };
        if self.random.chance(25) {
            request = request.with_kinds([self.random.pick(&KINDS)]);
        }
        if self.random.chance(40) {
            let at = usize::from(self.random.chance(50));
            let (claimer, seq) = &mut self.claimers[at];
            *seq += u64::from(self.random.chance(70));
            let smaller = u64::from(self.random.chance(10));
            request = request.with_ticket(*claimer, seq.saturating_sub(smaller));
        }
        let granted = self.both.claim(request).await;
        self.leases.extend(granted);
    }

    /// A lease, mostly one of the newest.
    fn lease(&mut self) -> Option<Lease> {
        let newest = &self.leases[self.leases.len().saturating_sub(5)..];
        let all = self.random.chance(15);
        let of = if all { &self.leases[..] } else { newest };
        (!of.is_empty()).then(|| self.random.pick(of))
    }

    /// Some leases, each of another task, or of one task twice now and then: Invalid.
    fn leases(&mut self) -> Vec<Lease> {
        let mut leases: Vec<Lease> = Vec::new();
        for _ in 0..=self.random.below(3) {
            leases.extend(self.lease());
        }
        if !self.random.chance(5) {
            leases.sort_by(|a, b| a.task_ref.cmp(&b.task_ref));
            leases.dedup_by(|a, b| a.task_ref == b.task_ref);
        }
        leases
    }

    async fn renew(&mut self) {
        let mut items = Vec::new();
        for lease in self.leases() {
            let ttl = Duration::from_millis(self.random.pick(&[1, 100, 1_000, 3_000]));
            let item = RenewItem::new(lease.guard(), ttl);
            items.push(match self.random.chance(40) {
                true => item.with_note(self.random.pick(&["", "half"])),
                false => item,
            });
        }
        self.both.renew(items).await;
    }

    async fn finish_runs(&mut self) {
        let mut items = Vec::new();
        for lease in self.leases() {
            let change = match lease.purpose {
                // Also the wrong role for a lease now and then: Invalid.
                Purpose::Rescue if self.random.chance(95) => decide::rescue(&lease),
                _ => decide::run(&lease, self.outcome(), self.random.below(1_000)),
            };
            items.push(CommitItem::new(lease.guard(), change));
        }
        self.sent.extend(items.iter().cloned());
        self.both.commit(items).await;
    }

    fn outcome(&mut self) -> Outcome {
        let message = "why".to_owned();
        match self.random.below(14) {
            0..5 => {
                let result = self.random.chance(30).then(|| "done".into());
                let follow_ups = self.random.chance(30).then(|| self.new_task());
                Outcome::Succeeded { result, follow_ups: follow_ups.into_iter().collect() }
            }
            5..8 => Outcome::Failed { message, retry: Retry::ByPolicy },
            8 => Outcome::Failed { message, retry: Retry::Never },
            9 => Outcome::Snoozed(Duration::from_millis(self.random.below(1_000))),
            10 => Outcome::Released(Entered::No),
            11 => Outcome::Cancelled { message },
            12 => Outcome::UnknownKind(Unknown::Wait),
            _ => Outcome::Undecodable { message },
        }
    }

    async fn repeat_commit(&mut self) {
        if self.sent.is_empty() {
            return;
        }
        let item = self.random.pick(&self.sent);
        self.both.commit(vec![item]).await;
    }

    async fn intervene(&mut self) {
        // Often a task that runs: what an operator takes away has the most consequences.
        let running = self.lease().filter(|_| self.random.chance(50));
        let id = running.map_or_else(|| self.random.pick(&IDS).to_owned(), |l| l.task_ref.id);
        let now = self.both.task(&id).await;
        // Mostly the task as it is; at times as it was some while ago.
        let late = self.random.chance(20) && !self.seen.is_empty();
        let Some(task) = (if late { Some(self.random.pick(&self.seen)) } else { now }) else {
            return;
        };
        let act = self.act();
        let running = task.state == State::Leased(Purpose::Run);
        if self.backward && running && task.unique.is_some() {
            return;
        }
        self.seen.push(task.clone());
        let by = Operator::new("ada", "because");
        let Ok(change) = decide::intervene(&task, act, &by) else { return };
        let item = CommitItem::new(Guard::new(task.task_ref, task.fence), change);
        self.sent.push(item.clone());
        self.both.commit(vec![item]).await;
    }

    fn act(&mut self) -> Intervention {
        let random = &mut self.random;
        match random.below(12) {
            0 | 1 => Intervention::Cancel,
            2 => Intervention::Bury,
            3 => Intervention::Requeue(OnLeased::Refuse),
            4 => Intervention::Requeue(OnLeased::Revoke),
            5 | 6 => Intervention::Delete,
            7..10 => Intervention::Redrive,
            _ => {
                let mut edit = Edit::default();
                if random.chance(50) {
                    edit = edit.with_payload("edited");
                }
                if random.chance(50) {
                    edit = edit.with_priority(Priority::new(random.pick(&[0, 9])));
                }
                if random.chance(50) {
                    edit = edit.with_due(Due::In(Duration::from_millis(random.below(1_500))));
                }
                if random.chance(30) {
                    let policy = Policy::new(Delivery::NotAfterLoss);
                    edit = edit.with_policy(policy.with_retention(retention(random)));
                }
                Intervention::Edit(edit)
            }
        }
    }

    async fn configure(&mut self) {
        let random = &mut self.random;
        let request = Configure::new(QUEUE);
        let request = match random.below(11) {
            0 => request.pause(),
            1..4 => request.resume(),
            4..8 => {
                let max = u32::try_from(random.below(4)).expect("small");
                request.with_limit("g", max).resume()
            }
            8 | 9 => request.with_retention(retention(random)),
            _ => request.with_id_memory(Duration::from_millis(random.pick(&[0, 500, 500, 5_000]))),
        };
        self.both.configure(request).await;
    }

    async fn shift(&mut self) {
        let random = &mut self.random;
        let by = match random.below(20) {
            0 => 2 * 60 * 60 * 1_000,
            1 => 25 * 60 * 60 * 1_000,
            2..8 => random.pick(&[1, 99, 100, 500, 1_000]),
            _ => i64::try_from(random.below(1_500)).expect("small"),
        };
        if self.backward && self.random.chance(30) {
            // Ended slots are swept in both first: how soon a claim sweeps is not ordered,
            // and one that was swept does not come back.
            self.both.purge().await;
            let back = i64::try_from(self.random.below(3_000)).expect("small");
            self.both.clock.shift(-back);
            return;
        }
        self.both.clock.shift(by);
    }

    fn filter(&mut self) -> Filter {
        let random = &mut self.random;
        let filter = Filter::all();
        match random.below(8) {
            0 | 1 => filter.with_status(random.pick(&Status::ALL)),
            2 => filter.with_kind(random.pick(&KINDS)),
            3 => filter.with_reason(random.pick(&[DeadReason::Lost, DeadReason::Exhausted])),
            4 => {
                let now = self.both.clock.now();
                let from = Timestamp::from_millis(now.as_millis() - 1_000);
                filter.with_finished(from, now)
            }
            _ => filter,
        }
    }
}

fn retry(random: &mut Random) -> RetryPolicy {
    let delay = Duration::from_millis(random.pick(&[0, 300]));
    let retries = u32::try_from(random.below(3)).expect("small");
    RetryPolicy::at_most(retries)
        .with_backoff(Backoff::Constant { delay })
        .with_jitter(Jitter::Half)
}

fn retention(random: &mut Random) -> Retention {
    let keeps = [Keep::NOT, Keep::For(Duration::from_millis(700)), Keep::Forever];
    let mut retention = Retention::default();
    if random.chance(70) {
        retention = retention.with_succeeded(random.pick(&keeps));
    }
    if random.chance(70) {
        retention = retention.with_cancelled(random.pick(&keeps));
    }
    if random.chance(70) {
        retention = retention.with_dead(random.pick(&keeps));
    }
    retention
}
