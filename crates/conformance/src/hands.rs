//! [`Hands`]: what the callers of a history hold, and so what their commands point at.

use leasehold_core::decide::{self, Operator};
use leasehold_core::{
    Claim, ClaimerId, CommitItem, Guard, Lease, List, Purpose, RenewItem, StoredTask, Timestamp,
};

use crate::model::{Op, Reply};
use crate::moves;
use crate::plan::{Ask, Cmd, End, Extend, Pick, Turn};

/// Entries of a page, few so that a list has pages.
pub(crate) const PAGE: usize = 3;

/// What was granted, seen and sent so far.
#[derive(Debug)]
pub(crate) struct Hands {
    queue: String,
    leases: Vec<Lease>,
    sights: Vec<StoredTask>,
    sent: Vec<CommitItem>,
    claimers: Vec<(ClaimerId, u64)>,
}

/// A command that knows what it points at.
#[derive(Debug, Clone)]
pub(crate) enum Call {
    /// One step.
    One(Op),
    /// One call, a step for each item.
    Renews(Vec<RenewItem>),
    /// One call, a step for each item.
    Commits(Vec<CommitItem>),
    /// A whole list, page by page.
    List(List),
}

impl Hands {
    /// Empty hands for so many claiming loops on `queue`.
    pub fn new(queue: &str, claimers: usize) -> Self {
        let claimers = (0..claimers).map(|_| (ClaimerId::fresh(), 1)).collect();
        let (leases, sights, sent) = (Vec::new(), Vec::new(), Vec::new());
        Self { queue: queue.to_owned(), leases, sights, sent, claimers }
    }

    /// What the command does at `now`; `None` when there is nothing that it could point at.
    pub fn call(&mut self, cmd: &Cmd, now: Timestamp) -> Option<Call> {
        Some(match cmd {
            Cmd::Enqueue(tasks) => Call::One(Op::Enqueue(tasks.clone())),
            Cmd::Claim(ask) => Call::One(Op::Claim(self.claim(ask))),
            Cmd::Renew(items) => Call::Renews(some(self.renews(items))?),
            Cmd::End(ends) => Call::Commits(some(self.ends(ends))?),
            Cmd::Again(sent) => Call::Commits(vec![ago(&self.sent, *sent)?.clone()]),
            Cmd::Get(id) => Call::One(Op::Get((*id).to_owned())),
            Cmd::GetHeld(pick) => Call::One(Op::Get(self.lease(*pick)?.task_ref.id.clone())),
            Cmd::Act { sight, act } => {
                let seen = ago(&self.sights, *sight)?;
                let by = Operator::new("operator", "as the history says");
                let change = decide::intervene(seen, act.clone(), &by).ok()?;
                let item = CommitItem::new(Guard::new(seen.task_ref.clone(), seen.fence), change);
                self.sent.push(item.clone());
                Call::Commits(vec![item])
            }
            Cmd::Count => Call::One(Op::Count),
            Cmd::List { filter, recent } => {
                let from = Timestamp::from_millis(now.as_millis() - 1_000);
                let filter = match recent {
                    true => filter.clone().with_finished(from, now),
                    false => filter.clone(),
                };
                Call::List(List::new(self.queue.clone(), filter, PAGE))
            }
            Cmd::Configure(request) => {
                let mut request = request.clone();
                request.queue.clone_from(&self.queue);
                Call::One(Op::Configure(request))
            }
            Cmd::Purge => Call::One(Op::Purge(100)),
            Cmd::Shift(by_ms) => Call::One(Op::Shift(*by_ms)),
            Cmd::Dropped { cmd, .. } => return self.call(cmd, now),
        })
    }

    /// What a reply brings.
    pub fn heard(&mut self, reply: &Reply) {
        match reply {
            Reply::Claimed(claimed) => self.leases.extend(claimed.leases.iter().cloned()),
            Reply::Found(leasehold_core::Found::Task(task)) => self.sights.push((**task).clone()),
            _ => {}
        }
    }

    fn lease(&self, pick: Pick) -> Option<&Lease> {
        match pick {
            Pick::Ago(many) => ago(&self.leases, many),
            Pick::Lost(many) => {
                let lost = self.leases.iter().enumerate().filter(|(at, lease)| {
                    let mut later = self.leases[*at..].iter();
                    lease.purpose == Purpose::Run
                        && later.any(|later| {
                            later.purpose == Purpose::Rescue && later.run == Some(lease.fence)
                        })
                });
                let lost: Vec<_> = lost.map(|(_, lease)| lease).collect();
                ago(&lost, many).copied()
            }
        }
    }

    fn claim(&mut self, ask: &Ask) -> Claim {
        let claim = Claim::new(self.queue.clone(), ask.purpose, ask.max, ask.ttl, "holder");
        let claim = match ask.kind {
            Some(kind) => claim.with_kinds([kind]),
            None => claim,
        };
        let Some((claimer, turn)) = ask.ticket else { return claim };
        let many = self.claimers.len();
        let (claimer, seq) = &mut self.claimers[claimer % many];
        *seq += u64::from(turn == Turn::Next);
        claim.with_ticket(*claimer, *seq - u64::from(turn == Turn::Older))
    }

    fn renews(&self, items: &[Extend]) -> Vec<RenewItem> {
        let items = items.iter().filter_map(|item| {
            let renew = RenewItem::new(self.lease(item.lease)?.guard(), item.ttl);
            Some(match item.note {
                Some(note) => renew.with_note(note),
                None => renew,
            })
        });
        items.collect()
    }

    fn ends(&mut self, ends: &[End]) -> Vec<CommitItem> {
        let items = ends.iter().filter_map(|end| {
            let lease = self.lease(end.lease)?;
            if lease.purpose == Purpose::Rescue && !end.astray {
                return Some(moves::rescue(lease).item);
            }
            let all = moves::endings(lease);
            let mut item = all[end.how % all.len()].item.clone();
            // A task's own id is none for a follow-up.
            let others = end.follow_ups.iter().filter(|new| new.id != lease.task_ref.id);
            item.change.follow_ups = others.cloned().collect();
            Some(item)
        });
        let items: Vec<_> = items.collect();
        self.sent.extend(items.iter().cloned());
        items
    }
}

fn some<T>(items: Vec<T>) -> Option<Vec<T>> {
    (!items.is_empty()).then_some(items)
}

/// What came so many ago, modulo what there is.
fn ago<T>(of: &[T], ago: usize) -> Option<&T> {
    let last = of.len().checked_sub(1)?;
    of.get(last - ago % of.len())
}
