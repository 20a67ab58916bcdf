//! claim: the only way a task changes hands.

use std::collections::HashMap;

use leasehold_core::stored::FORMAT;
use leasehold_core::{Bounds, Claim, Claimed, Lease, LimitKey, Purpose, Ticket};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::limits::{self, Keys};
use super::row::{Stored, list};
use super::step::Step;
use crate::error::Fault;

/// Most ready tasks that one claim looks at, granted or set aside. With more of them left it
/// answers `more`: what was set aside is not met again, so each call gets further.
const CANDIDATES_MAX: usize = 2_000;

/// Fewest ready tasks to read at a time once some have turned out to stand behind a full key.
const PAGE_MIN: usize = 200;

pub(super) async fn claim(
    step: &mut Step,
    bounds: &Bounds,
    request: &Claim,
) -> Result<Claimed, Fault> {
    let find = sql!("queue_claim")
        .bind(&request.queue)
        .bind(step.now_ms())
        .bind(request.purpose == Purpose::Run);
    let Some(row) = find.fetch_optional(step.conn()).await? else {
        return Ok(Claimed::default());
    };
    let queue: i64 = row.try_get("queue")?;
    if let Some(ticket) = request.ticket
        && let Some(claimed) = recorded(step, queue, request, ticket).await?
    {
        return Ok(claimed);
    }
    step.count(queue, "skipped_newer", row.try_get::<i64, _>("newer")?.unsigned_abs());
    let bytes_left = bounds.batch_bytes_max as u64;
    let mut claiming = Claiming { queue, request, fence: None, leases: Vec::new(), bytes_left };
    let more = match request.purpose {
        Purpose::Run if row.try_get("paused")? => return Ok(Claimed::default()),
        Purpose::Run => claiming.ready(step, row.try_get("wake")?).await?,
        Purpose::Rescue => claiming.lapsed(step).await?,
    };
    claiming.record(step).await?;
    Ok(Claimed::new(claiming.leases, more))
}

/// The answer to a claim that is not the newest of its loop: a repeat returns what it still
/// holds and never grants (LH-CLAIM-9).
async fn recorded(
    step: &mut Step,
    queue: i64,
    request: &Claim,
    ticket: Ticket,
) -> Result<Option<Claimed>, Fault> {
    let find = sql!("claim_find").bind(queue).bind(ticket.claimer.bits().to_be_bytes().to_vec());
    let Some(row) = find.fetch_optional(step.conn()).await? else { return Ok(None) };
    let newest: i64 = row.try_get("seq")?;
    if seq(ticket) > newest {
        return Ok(None);
    }
    if seq(ticket) < newest {
        return Ok(Some(Claimed::superseded()));
    }
    let now = step.now;
    let fence: i64 = row.try_get("fence")?;
    let find = sql!("claim_repeat").bind(queue).bind(fence).bind(now.as_millis());
    let mut leases = Vec::new();
    for row in find.fetch_all(step.conn()).await? {
        leases.push(Lease::of(Stored::read(&row, &request.queue)?.task, now));
    }
    Ok(Some(Claimed::new(leases, false)))
}

/// The seq as its column has it: the order of the numbers is kept for all 64 bits.
fn seq(ticket: Ticket) -> i64 {
    (ticket.seq ^ (1 << 63)).cast_signed()
}

/// A claim that has not been answered before.
struct Claiming<'a> {
    queue: i64,
    request: &'a Claim,
    /// One value for all leases of the call, drawn with the first (LH-FENCE-1).
    fence: Option<i64>,
    leases: Vec<Lease>,
    /// How many more bytes of payload the reply may have.
    bytes_left: u64,
}

/// A task to be granted, not looked at closer.
struct Candidate {
    seq: i64,
    bytes: u64,
    limit: Option<LimitKey>,
}

impl Claiming<'_> {
    /// Grants ready tasks in the order of service; tells whether to ask again.
    async fn ready(&mut self, step: &mut Step, wake: bool) -> Result<bool, Fault> {
        let mut keys = Keys::new(self.queue);
        let mut unfinished = false;
        if wake {
            unfinished = keys.wake(step).await?;
        }
        let kinds = self.request.kinds.as_deref().map(distinct);
        let (mut looked_at, mut page) = (0, self.wanted());
        while looked_at < CANDIDATES_MAX {
            let candidates = self.candidates(step, kinds.as_deref(), page).await?;
            let last = candidates.len() < page;
            looked_at += candidates.len();
            let full = self.take(step, &mut keys, candidates).await?;
            if full || last {
                return Ok(full || unfinished);
            }
            page = self.wanted().max(PAGE_MIN);
        }
        Ok(true)
    }

    fn wanted(&self) -> usize {
        self.request.max - self.leases.len()
    }

    async fn candidates(
        &self,
        step: &mut Step,
        kinds: Option<&str>,
        page: usize,
    ) -> Result<Vec<Candidate>, Fault> {
        let find = match kinds {
            None => sql!("claim_ready"),
            Some(_) => sql!("claim_ready_kinds"),
        };
        let mut find = find.bind(self.queue).bind(step.now_ms()).bind(FORMAT).bind(wide(page));
        if let Some(kinds) = kinds {
            find = find.bind(kinds);
        }
        let rows = find.fetch_all(step.conn()).await?;
        rows.iter().map(candidate).collect()
    }

    /// Grants what has room and sets aside what stands behind a full key, so that the next
    /// look finds other tasks. Tells whether the reply is full.
    async fn take(
        &mut self,
        step: &mut Step,
        keys: &mut Keys,
        candidates: Vec<Candidate>,
    ) -> Result<bool, Fault> {
        let (mut granted, mut blocked, mut limited) = (Vec::new(), Vec::new(), false);
        let mut full = false;
        for Candidate { seq, bytes, limit } in candidates {
            if granted.len() == self.wanted() {
                break;
            }
            if let Some(key) = &limit
                && !keys.has_room(step, key).await?
            {
                keys.block(key);
                blocked.push(seq);
                continue;
            }
            if !self.fits(granted.len(), bytes) {
                full = true;
                break;
            }
            if let Some(key) = &limit {
                keys.fill(key);
                limited = true;
            }
            granted.push(seq);
        }
        if !granted.is_empty() {
            self.grant(step, &granted).await?;
        }
        if limited {
            let until = step.now.after(self.request.ttl).as_millis();
            limits::take_slots(step, &granted, until).await?;
        }
        keys.park(step, &blocked).await?;
        Ok(full || self.wanted() == 0)
    }

    /// Whether so many bytes fit beside those of the leases so far and of those that are about
    /// to be granted; the first one's always do.
    fn fits(&mut self, pending: usize, bytes: u64) -> bool {
        let is_first = pending == 0 && self.leases.is_empty();
        if !is_first && bytes > self.bytes_left {
            return false;
        }
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        true
    }

    /// Takes over lapsed leases, the earliest first; tells whether to ask again.
    async fn lapsed(&mut self, step: &mut Step) -> Result<bool, Fault> {
        let find = sql!("claim_lapsed")
            .bind(self.queue)
            .bind(step.now_ms())
            .bind(FORMAT)
            .bind(wide(self.request.max))
            .bind(self.request.kinds.as_deref().map(distinct));
        let (mut seqs, mut taken_over, mut full) = (Vec::new(), 0_u64, false);
        for row in find.fetch_all(step.conn()).await? {
            if !self.fits(seqs.len(), row.try_get::<i64, _>("bytes")?.unsigned_abs()) {
                full = true;
                break;
            }
            seqs.push(row.try_get::<i64, _>("seq")?);
            taken_over += u64::from(row.try_get::<bool, _>("taken_over")?);
        }
        if seqs.is_empty() {
            return Ok(false);
        }
        step.count(self.queue, "takeovers", taken_over);
        step.count(self.queue, "lapsed", seqs.len() as u64 - taken_over);
        self.grant(step, &seqs).await?;
        for lease in &self.leases {
            if let (Some(key), Some(run)) = (&lease.limit, lease.run) {
                limits::free_slot(step, self.queue, key, &lease.task_ref.id, run).await?;
            }
        }
        Ok(full || self.wanted() == 0)
    }

    /// Fence, run, attempt and lease end in one statement (LH-CLAIM-5).
    async fn grant(&mut self, step: &mut Step, seqs: &[i64]) -> Result<(), Fault> {
        let fence = match self.fence {
            Some(fence) => fence,
            None => *self.fence.insert(step.draw(1).await?),
        };
        let Claim { queue, ttl, purpose, holder, .. } = self.request;
        let grant = match purpose {
            Purpose::Run => sql!("grant_run"),
            Purpose::Rescue => sql!("grant_rescue"),
        };
        let (now, until) = (step.now, step.now.after(*ttl));
        let grant =
            grant.bind(list(seqs.iter().copied())).bind(fence).bind(until.as_millis()).bind(holder);
        // The statement returns rows in no order, the caller's list has the order of service.
        let places: HashMap<_, _> = seqs.iter().enumerate().map(|(at, seq)| (*seq, at)).collect();
        let mut leases = Vec::with_capacity(seqs.len());
        for row in grant.fetch_all(step.conn()).await? {
            let stored = Stored::read(&row, queue)?;
            leases.push((places.get(&stored.seq), Lease::of(stored.task, now)));
        }
        leases.sort_unstable_by_key(|(place, _)| *place);
        self.leases.extend(leases.into_iter().map(|(_, lease)| lease));
        Ok(())
    }

    /// Records the claim, if it has a name and granted something (LH-CLAIM-9).
    async fn record(&self, step: &mut Step) -> Result<(), Fault> {
        let (Some(ticket), Some(fence)) = (self.request.ticket, self.fence) else { return Ok(()) };
        let record = sql!("claim_record")
            .bind(self.queue)
            .bind(ticket.claimer.bits().to_be_bytes().to_vec())
            .bind(seq(ticket))
            .bind(fence)
            .bind(step.now_ms());
        record.execute(step.conn()).await?;
        Ok(())
    }
}

fn candidate(row: &SqliteRow) -> Result<Candidate, Fault> {
    let group: Option<String> = row.try_get("limit_group")?;
    let key: Option<String> = row.try_get("limit_key")?;
    let limit = group.zip(key).map(|(group, key)| LimitKey { group, key });
    let bytes = row.try_get::<i64, _>("bytes")?.unsigned_abs();
    Ok(Candidate { seq: row.try_get("seq")?, bytes, limit })
}

/// The kinds, each once: a kind that came twice would be granted twice.
fn distinct(kinds: &[String]) -> String {
    let mut kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    kinds.sort_unstable();
    kinds.dedup();
    list(kinds)
}

fn wide(size: usize) -> i64 {
    i64::try_from(size).unwrap_or(i64::MAX)
}
