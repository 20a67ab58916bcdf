//! [`Lanes`]: several callers at once, on threads of their own, and what each of them did when.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use leasehold_core::{Backend, Claim, Claimed, ClaimerId, ErrorKind, Timestamp};
use tokio::runtime::{Builder, Runtime};

use crate::cases::dropped::polled;
use crate::context::Stop;
use crate::hands::{Call, Hands};
use crate::linear::{Piece, What};
use crate::model::{Model, Op, Reply};
use crate::perform;
use crate::plan::Cmd;

/// One call of a history with its times, by a counter of calls and returns.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub lane: usize,
    pub call: u64,
    /// When it returned and with what; `None` when nobody saw a reply.
    pub back: Option<(u64, Reply)>,
    pub op: Op,
}

/// The threads, and the counter that all of them read.
pub(crate) struct Lanes {
    runtime: Option<Runtime>,
    moments: Arc<AtomicU64>,
}

impl Drop for Lanes {
    fn drop(&mut self) {
        // A runtime must not be waited for inside another.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Lanes {
    /// Threads for so many lanes.
    pub fn new(lanes: usize) -> Result<Self, Stop> {
        let built = Builder::new_multi_thread().worker_threads(lanes).enable_all().build();
        let runtime = built.map_err(|error| Stop::because(format!("no threads: {error}")))?;
        Ok(Self { runtime: Some(runtime), moments: Arc::default() })
    }

    /// The next moment.
    pub fn moment(&self) -> u64 {
        self.moments.fetch_add(1, Ordering::SeqCst)
    }

    /// One call by nobody else's time.
    pub async fn alone(&self, backend: &dyn Backend, queue: &str, op: Op) -> Result<Heard, Stop> {
        let call = self.moment();
        let reply = perform(backend, queue, &op).await?;
        Ok(Heard { lane: 0, call, back: Some((self.moment(), reply)), op })
    }

    /// Plays each lane on a handle of its own, all at once.
    pub async fn play(
        &self,
        handles: &[Arc<dyn Backend>],
        queue: &str,
        lanes: &[Vec<Cmd>],
        hands: Hands,
        now: Timestamp,
    ) -> Result<(Vec<Heard>, Hands), Stop> {
        let Some(runtime) = &self.runtime else { return Ok((Vec::new(), hands)) };
        let hands = Arc::new(Mutex::new(hands));
        let ready = Arc::new(AtomicUsize::new(0));
        let tasks = lanes.iter().zip(handles).enumerate().map(|(at, (cmds, backend))| {
            let lane = Lane {
                at: at + 1,
                backend: backend.clone(),
                queue: queue.to_owned(),
                now,
                hands: hands.clone(),
                moments: self.moments.clone(),
            };
            let (cmds, ready, all) = (cmds.clone(), ready.clone(), lanes.len());
            runtime.spawn(async move {
                ready.fetch_add(1, Ordering::SeqCst);
                while ready.load(Ordering::SeqCst) < all {
                    tokio::task::yield_now().await;
                }
                lane.play(&cmds).await
            })
        });
        let tasks: Vec<_> = tasks.collect();
        let mut heard = Vec::new();
        for task in tasks {
            let lane = task.await.map_err(|_| Stop::because("a lane panicked"))?;
            heard.extend(lane?);
        }
        let hands = Arc::into_inner(hands).ok_or_else(|| Stop::because("a lane goes on"))?;
        Ok((heard, hands.into_inner().unwrap_or_else(PoisonError::into_inner)))
    }
}

struct Lane {
    at: usize,
    backend: Arc<dyn Backend>,
    queue: String,
    now: Timestamp,
    /// All lanes hold the same: what one was granted another may decide about.
    hands: Arc<Mutex<Hands>>,
    moments: Arc<AtomicU64>,
}

impl Lane {
    async fn play(&self, cmds: &[Cmd]) -> Result<Vec<Heard>, Stop> {
        let mut heard = Vec::new();
        for cmd in cmds {
            let Some(call) = self.hands().call(cmd, self.now) else { continue };
            let Some(op) = single(call) else { continue };
            heard.push(self.perform(op, cmd).await?);
        }
        Ok(heard)
    }

    async fn perform(&self, op: Op, cmd: &Cmd) -> Result<Heard, Stop> {
        let call = self.moments.fetch_add(1, Ordering::SeqCst);
        let going = perform(self.backend.as_ref(), &self.queue, &op);
        let reply = match cmd {
            Cmd::Dropped { polls, .. } => polled(*polls, going).await,
            _ => Some(going.await),
        };
        let reply = match reply {
            None => None,
            Some(Ok(reply)) => Some(reply),
            Some(Err(error)) if error.kind() == ErrorKind::Unavailable => None,
            Some(Err(error)) => return Err(error.into()),
        };
        let back = reply.map(|reply| (self.moments.fetch_add(1, Ordering::SeqCst), reply));
        if let Some((_, reply)) = &back {
            self.hands().heard(reply);
        }
        Ok(Heard { lane: self.at, call, back, op })
    }

    fn hands(&self) -> MutexGuard<'_, Hands> {
        self.hands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// In lanes each call is one step.
fn single(call: Call) -> Option<Op> {
    match call {
        Call::One(op) => Some(op),
        Call::Renews(mut items) => items.pop().map(Op::Renew),
        Call::Commits(mut items) => items.pop().map(Op::Commit),
        Call::List(_) => None,
    }
}

/// How many pairs of calls overlapped.
pub(crate) fn overlaps(heard: &[Heard]) -> usize {
    let end = |heard: &Heard| heard.back.as_ref().map_or(u64::MAX, |(back, _)| *back);
    let pairs = heard.iter().enumerate().flat_map(|(at, one)| {
        heard[..at].iter().filter(move |other| one.call < end(other) && other.call < end(one))
    });
    pairs.count()
}

/// What a history names.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Every id.
    pub ids: BTreeSet<String>,
    /// Those under which there was a task with a limit key.
    limited: BTreeSet<String>,
}

impl Names {
    /// The names of what was there at the start and of what came since.
    pub fn of(start: &Model, heard: &[Heard]) -> Self {
        let mut names = Self::default();
        names.ids.extend(start.left.keys().cloned());
        for kept in start.tasks.values() {
            names.add(&kept.task.task_ref.id, kept.task.limit.is_some());
        }
        for heard in heard {
            let new = match &heard.op {
                Op::Enqueue(tasks) => tasks,
                Op::Commit(item) => &item.change.follow_ups,
                _ => continue,
            };
            new.iter().for_each(|new| names.add(&new.id, new.limit.is_some()));
        }
        names
    }

    fn add(&mut self, id: &str, limited: bool) {
        self.ids.insert(id.to_owned());
        if limited {
            self.limited.insert(id.to_owned());
        }
    }
}

/// The pieces of a history that names these.
pub(crate) fn pieces(heard: &[Heard], names: &Names) -> Vec<Piece> {
    let mut heard: Vec<_> = heard.iter().collect();
    heard.sort_by_key(|heard| heard.call);
    let mut pieces = Vec::new();
    let mut first = BTreeMap::new();
    for one in &heard {
        let back = one.back.as_ref().map(|(back, _)| *back);
        let piece = |what| Piece { lane: one.lane, call: one.call, back, what };
        match (&one.op, &one.back) {
            (Op::Claim(claim), Some((_, Reply::Claimed(claimed)))) => {
                let whats = claimed_as(one.call, claim, claimed, &mut first);
                pieces.extend(whats.into_iter().map(piece));
            }
            (Op::Claim(claim), None) => {
                let maybe = |id: &String| piece(What::MaybeGrant(claim.clone(), id.clone()));
                pieces.extend(names.ids.iter().map(maybe));
                if let Some(ticket) = claim.ticket {
                    first.entry((ticket.claimer, ticket.seq)).or_insert((one.call, None));
                }
            }
            (_, Some((_, reply))) => pieces.push(piece(What::Step(one.op.clone(), reply.clone()))),
            (Op::Get(_) | Op::Count, None) => {}
            (op, None) => pieces.push(piece(What::Maybe(op.clone()))),
        }
    }
    let passed: Vec<_> = heard.iter().flat_map(|one| passed(one, &pieces, names, &first)).collect();
    pieces.extend(passed);
    pieces
}

/// By ticket, its first call and whether that granted anything; `None` when nobody saw its
/// reply.
type First = BTreeMap<(ClaimerId, u64), (u64, Option<bool>)>;

fn claimed_as(call: u64, claim: &Claim, claimed: &Claimed, first: &mut First) -> Vec<What> {
    let named = claim.ticket.map(|ticket| (ticket.claimer, ticket.seq));
    let before = named.and_then(|named| first.get(&named).copied());
    if let (Some(named), None) = (named, before) {
        first.insert(named, (call, Some(!claimed.leases.is_empty())));
    }
    let whats = claimed.leases.iter().cloned().map(|lease| match before {
        None => What::Grant(claim.clone(), lease),
        // A claim that granted nothing need not be recorded, so its repeat may grant.
        Some((_, granted)) => {
            let may_grant = granted != Some(true);
            What::Again { claim: claim.clone(), lease, may_grant }
        }
    });
    whats.collect()
}

/// The tasks that a claim could not be granted, if it says that there was no more.
fn passed(one: &Heard, pieces: &[Piece], names: &Names, first: &First) -> Vec<Piece> {
    let (Op::Claim(claim), Some((back, Reply::Claimed(claimed)))) = (&one.op, &one.back) else {
        return Vec::new();
    };
    // Repeats are exempt (LH-CLAIM-9).
    let named = claim.ticket.and_then(|ticket| first.get(&(ticket.claimer, ticket.seq)));
    let repeats = named.is_some_and(|(first, _)| *first != one.call);
    if claimed.more || claimed.superseded || claimed.leases.len() >= claim.max || repeats {
        return Vec::new();
    }
    let others = pieces.iter().filter(|piece| piece.call != one.call);
    let others: Vec<_> = others.filter(|piece| piece.overlaps(one.call, *back)).collect();
    let taken = |id: &str| claimed.leases.iter().any(|lease| lease.task_ref.id == id);
    // Whoever touches a slot touches every task of its limit key.
    let limited = |id: &String| names.limited.contains(id);
    let touched =
        |id: &String| others.iter().any(|other| other.touches(id) || limited(id) && other.writes());
    let quiet = names.ids.iter().filter(|id| !taken(id) && !touched(id));
    let passed = quiet.map(|id| Piece {
        lane: one.lane,
        call: one.call,
        back: Some(*back),
        what: What::Passed(claim.clone(), id.clone()),
    });
    passed.collect()
}
