//! What the verbs take: one struct a verb, each able to say which features it needs and
//! whether it is within bounds.

use std::collections::HashSet;
use std::time::Duration;

use crate::capabilities::{Capabilities, Features};
use crate::change::Change;
use crate::error::{Error, ErrorKind};
use crate::id::{ClaimerId, DecisionId};
use crate::lease::{Guard, Purpose};
use crate::limit::{Bounds, check_size};
use crate::policy::Retention;
use crate::query::{Cursor, Filter};
use crate::task::{NewTask, Payload, TaskRef};

/// A verb's request.
pub trait Request {
    /// The features without which it cannot be served as it stands.
    fn needs(&self) -> Features;

    /// Checks what makes the whole call invalid.
    ///
    /// # Errors
    /// Invalid, naming the part.
    fn check(&self, bounds: &Bounds) -> Result<(), Error>;
}

/// The first thing that each verb of a backend does: refuses a request that needs a feature
/// which the backend has not declared (LH-GEN-9), or that is out of bounds.
///
/// # Errors
/// Unsupported or Invalid, before any effect.
pub fn admit(capabilities: &Capabilities, request: &impl Request) -> Result<(), Error> {
    check_features(capabilities, request.needs())?;
    request.check(&capabilities.bounds)
}

fn check_features(capabilities: &Capabilities, needs: Features) -> Result<(), Error> {
    let missing = needs - capabilities.features;
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.iter_names().map(|(name, _)| name.to_lowercase().replace('_', "-"));
    let names = names.collect::<Vec<_>>().join(", ");
    Err(Error::new(ErrorKind::Unsupported, format!("{} does not have: {names}", capabilities.name)))
}

/// New tasks for one queue: all or nothing (LH-ENQ-7).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Enqueue {
    /// The queue, made if it is new.
    pub queue: String,
    /// Replies come in this order; empty is a no-op.
    pub tasks: Vec<NewTask>,
}

impl Enqueue {
    /// Enqueues `tasks` in `queue`.
    #[must_use]
    pub fn new(queue: impl Into<String>, tasks: Vec<NewTask>) -> Self {
        Self { queue: queue.into(), tasks }
    }
}

impl Request for Enqueue {
    fn needs(&self) -> Features {
        self.tasks.iter().map(new_task_needs).collect()
    }

    fn check(&self, bounds: &Bounds) -> Result<(), Error> {
        bounds.check_name("queue", &self.queue)?;
        check_size("the number of tasks", self.tasks.len(), bounds.batch_max)?;
        let bytes = self.tasks.iter().map(|new| new.payload.len()).sum();
        check_size("the payloads' sum in bytes", bytes, bounds.batch_bytes_max)?;
        self.tasks.iter().try_for_each(|new| new.check(bounds))
    }
}

fn new_task_needs(new: &NewTask) -> Features {
    let mut needs = Features::empty();
    needs.set(Features::LIMITS, new.limit.is_some());
    needs.set(Features::UNIQUE, new.unique.is_some());
    needs
}

/// One claim of a claiming loop, so that a repeat returns and never grants (LH-CLAIM-9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    /// The loop.
    pub claimer: ClaimerId,
    /// Grows by one with each new claim of the loop; a repeat shows the same.
    pub seq: u64,
}

/// Takes up to `max` leases in one queue.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Claim {
    /// The queue.
    pub queue: String,
    /// 1 to [`Bounds::claim_max`]; no more than can be started now.
    pub max: usize,
    /// Length of each lease, [`Bounds::ttl_min`] to [`Bounds::ttl_max`].
    pub ttl: Duration,
    /// Run or Rescue.
    pub purpose: Purpose,
    /// Only these kinds (LH-CLAIM-10); `None` is every kind.
    pub kinds: Option<Vec<String>>,
    /// Names this claim so that it can be repeated (LH-CLAIM-9).
    pub ticket: Option<Ticket>,
    /// Who asks: a label for people, never compared.
    pub holder: String,
}

impl Claim {
    /// Claims every kind, without a ticket.
    #[must_use]
    pub fn new(
        queue: impl Into<String>,
        purpose: Purpose,
        max: usize,
        ttl: Duration,
        holder: impl Into<String>,
    ) -> Self {
        let (queue, holder) = (queue.into(), holder.into());
        Self { queue, max, ttl, purpose, kinds: None, ticket: None, holder }
    }

    /// The same claim for these kinds only.
    #[must_use]
    pub fn with_kinds(mut self, kinds: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.kinds = Some(kinds.into_iter().map(Into::into).collect());
        self
    }

    /// The same claim with a name.
    #[must_use]
    pub fn with_ticket(mut self, claimer: ClaimerId, seq: u64) -> Self {
        self.ticket = Some(Ticket { claimer, seq });
        self
    }
}

impl Request for Claim {
    fn needs(&self) -> Features {
        let mut needs = Features::empty();
        needs.set(Features::KINDS, self.kinds.is_some());
        needs.set(Features::REPLAY, self.ticket.is_some());
        needs
    }

    fn check(&self, bounds: &Bounds) -> Result<(), Error> {
        bounds.check_name("queue", &self.queue)?;
        bounds.check_name("holder", &self.holder)?;
        bounds.check_ttl(self.ttl)?;
        if self.max == 0 {
            return Err(Error::invalid("a claim for no lease at all"));
        }
        check_size("the number of leases", self.max, bounds.claim_max)?;
        let kinds = self.kinds.as_deref().unwrap_or_default();
        if self.kinds.is_some() && kinds.is_empty() {
            return Err(Error::invalid("a claim for no kind at all"));
        }
        check_size("the number of kinds", kinds.len(), bounds.kinds_max)?;
        kinds.iter().try_for_each(|kind| bounds.check_name("kind", kind))
    }
}

/// Extends one lease.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RenewItem {
    /// The claim that is to go on.
    pub guard: Guard,
    /// Until is then at least now + ttl; never shortened.
    pub ttl: Duration,
    /// Progress or a checkpoint to keep (LH-RENEW-9); `None` leaves the last one.
    pub note: Option<Payload>,
}

impl RenewItem {
    /// Extends the lease of `guard` to at least `ttl` from now.
    #[must_use]
    pub fn new(guard: Guard, ttl: Duration) -> Self {
        Self { guard, ttl, note: None }
    }

    /// The same renew with a note.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<Payload>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Checks this item alone.
    ///
    /// # Errors
    /// Invalid, as this item's reply; the others go on (LH-GEN-2).
    pub fn check(&self, bounds: &Bounds) -> Result<(), Error> {
        self.guard.task.check(bounds)?;
        bounds.check_ttl(self.ttl)?;
        let note = self.note.as_ref().map_or(0, Payload::len);
        check_size("the note's size in bytes", note, bounds.note_bytes_max)
    }
}

/// Extends leases; the items are independent (LH-GEN-2).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Renew {
    /// Each task at most once (LH-COMMIT-11); replies come in this order.
    pub items: Vec<RenewItem>,
}

impl Renew {
    /// Renews `items`.
    #[must_use]
    pub fn new(items: Vec<RenewItem>) -> Self {
        Self { items }
    }
}

impl Request for Renew {
    fn needs(&self) -> Features {
        Features::empty()
    }

    fn check(&self, bounds: &Bounds) -> Result<(), Error> {
        check_size("the number of renews", self.items.len(), bounds.batch_max)?;
        check_distinct(self.items.iter().map(|item| &item.guard.task))
    }
}

/// One decision about one task.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CommitItem {
    /// The claim that the decision came from, or the fence that an operator saw.
    pub guard: Guard,
    /// A repeat shows the same id and the very same change (LH-COMMIT-4).
    pub decision: DecisionId,
    /// What to write.
    pub change: Change,
}

impl CommitItem {
    /// A new decision; clone the item to repeat it.
    #[must_use]
    pub fn new(guard: Guard, change: Change) -> Self {
        Self { guard, decision: DecisionId::fresh(), change }
    }

    /// Checks this item alone.
    ///
    /// # Errors
    /// Unsupported or Invalid, as this item's reply; the others go on (LH-GEN-2).
    pub fn check(&self, capabilities: &Capabilities) -> Result<(), Error> {
        let bounds = &capabilities.bounds;
        let follow_ups = self.change.follow_ups.iter();
        check_features(
            capabilities,
            follow_ups.map(|new| Features::FOLLOW_UPS | new_task_needs(new)).collect(),
        )?;
        self.guard.task.check(bounds)?;
        self.change.check(&self.guard.task, bounds)
    }
}

/// Writes decisions; the items are independent (LH-GEN-2).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Commit {
    /// Each task at most once (LH-COMMIT-11); replies come in this order.
    pub items: Vec<CommitItem>,
}

impl Commit {
    /// Commits `items`.
    #[must_use]
    pub fn new(items: Vec<CommitItem>) -> Self {
        Self { items }
    }
}

impl Request for Commit {
    /// None: what one item needs is that item's own reply (LH-COMMIT-3).
    fn needs(&self) -> Features {
        Features::empty()
    }

    fn check(&self, bounds: &Bounds) -> Result<(), Error> {
        check_size("the number of commits", self.items.len(), bounds.batch_max)?;
        check_distinct(self.items.iter().map(|item| &item.guard.task))
    }
}

fn check_distinct<'a>(tasks: impl Iterator<Item = &'a TaskRef>) -> Result<(), Error> {
    let mut seen = HashSet::new();
    for task in tasks {
        if !seen.insert(task) {
            return Err(Error::invalid("one task stands twice in a call").with_task(task));
        }
    }
    Ok(())
}

/// Asks for one task.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Get {
    /// Queue and id.
    pub task: TaskRef,
}

impl Get {
    /// Reads `task`.
    #[must_use]
    pub fn new(task: TaskRef) -> Self {
        Self { task }
    }
}

impl Request for Get {
    fn needs(&self) -> Features {
        Features::empty()
    }

    fn check(&self, bounds: &Bounds) -> Result<(), Error> {
        self.task.check(bounds)
    }
}

/// Asks how many tasks of a queue are in which status.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Count {
    /// The queue.
    pub queue: String,
}

impl Count {
    /// Counts the tasks of `queue`.
    #[must_use]
    pub fn new(queue: impl Into<String>) -> Self {
        Self { queue: queue.into() }
    }
}

impl Request for Count {
    fn needs(&self) -> Features {
        Features::empty()
    }

    fn check(&self, bounds: &Bounds) -> Result<(), Error> {
        bounds.check_name("queue", &self.queue)
    }
}

/// Asks for one page of a queue's tasks.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct List {
    /// The queue.
    pub queue: String,
    /// Which tasks.
    pub filter: Filter,
    /// Where to begin: a page's `next`; `None` is the start.
    pub after: Option<Cursor>,
    /// Most entries of the page, 1 to [`Bounds::page_max`].
    pub max: usize,
}

impl List {
    /// The first page of `max` tasks.
    #[must_use]
    pub fn new(queue: impl Into<String>, filter: Filter, max: usize) -> Self {
        Self { queue: queue.into(), filter, after: None, max }
    }

    /// The same list, one page on.
    #[must_use]
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.after = Some(cursor);
        self
    }
}

impl Request for List {
    fn needs(&self) -> Features {
        Features::empty()
    }

    fn check(&self, bounds: &Bounds) -> Result<(), Error> {
        bounds.check_name("queue", &self.queue)?;
        check_page(self.max, bounds)
    }
}

/// Asks for one page of queues.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Queues {
    /// Where to begin: a page's `next`; `None` is the start.
    pub after: Option<Cursor>,
    /// Most entries of the page, 1 to [`Bounds::page_max`].
    pub max: usize,
}

impl Queues {
    /// The first page of `max` queues.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { after: None, max }
    }

    /// The same list, one page on.
    #[must_use]
    pub fn after(mut self, cursor: Cursor) -> Self {
        self.after = Some(cursor);
        self
    }
}

impl Request for Queues {
    fn needs(&self) -> Features {
        Features::empty()
    }

    fn check(&self, bounds: &Bounds) -> Result<(), Error> {
        check_page(self.max, bounds)
    }
}

fn check_page(max: usize, bounds: &Bounds) -> Result<(), Error> {
    if max == 0 {
        return Err(Error::invalid("a page of no entry at all"));
    }
    check_size("the size of a page", max, bounds.page_max)
}

/// Changes a queue's settings; a part that is not set stays as it is (LH-CTL-1).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Configure {
    /// The queue, made if it is new.
    pub queue: String,
    /// Whether Run claims are off.
    pub paused: Option<bool>,
    /// New numbers for limit groups; 0 lets none of the group start.
    pub limits: Vec<(String, u32)>,
    /// The parts that are set replace the queue's.
    pub retention: Retention,
    /// 0 to 100 years; 0 gives up what LH-ENQ-9 protects.
    pub id_memory: Option<Duration>,
}

impl Configure {
    /// Changes nothing yet.
    #[must_use]
    pub fn new(queue: impl Into<String>) -> Self {
        Self {
            queue: queue.into(),
            paused: None,
            limits: Vec::new(),
            retention: Retention::default(),
            id_memory: None,
        }
    }

    /// Turns Run claims off.
    #[must_use]
    pub fn pause(mut self) -> Self {
        self.paused = Some(true);
        self
    }

    /// Turns Run claims on.
    #[must_use]
    pub fn resume(mut self) -> Self {
        self.paused = Some(false);
        self
    }

    /// Sets the number of a limit group.
    #[must_use]
    pub fn with_limit(mut self, group: impl Into<String>, max: u32) -> Self {
        self.limits.push((group.into(), max));
        self
    }

    /// Sets how long finished tasks stay.
    #[must_use]
    pub fn with_retention(mut self, retention: Retention) -> Self {
        self.retention = retention;
        self
    }

    /// Sets how long the id of a task that left is remembered.
    #[must_use]
    pub fn with_id_memory(mut self, time: Duration) -> Self {
        self.id_memory = Some(time);
        self
    }
}

impl Request for Configure {
    fn needs(&self) -> Features {
        let mut needs = Features::empty();
        needs.set(Features::LIMITS, !self.limits.is_empty());
        needs
    }

    fn check(&self, bounds: &Bounds) -> Result<(), Error> {
        bounds.check_name("queue", &self.queue)?;
        check_size("the number of limits", self.limits.len(), bounds.batch_max)?;
        for (group, _) in &self.limits {
            bounds.check_name("limit group", group)?;
        }
        self.retention.check()?;
        Bounds::check_delay(self.id_memory.unwrap_or_default())
    }
}

/// Removes finished tasks whose time has passed.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Purge {
    /// The queue.
    pub queue: String,
    /// Most tasks that leave, 1 to [`Bounds::batch_max`].
    pub max: usize,
}

impl Purge {
    /// Removes at most `max` tasks of `queue`.
    #[must_use]
    pub fn new(queue: impl Into<String>, max: usize) -> Self {
        Self { queue: queue.into(), max }
    }
}

impl Request for Purge {
    fn needs(&self) -> Features {
        Features::empty()
    }

    fn check(&self, bounds: &Bounds) -> Result<(), Error> {
        bounds.check_name("queue", &self.queue)?;
        if self.max == 0 {
            return Err(Error::invalid("a purge of no task at all"));
        }
        check_size("the number of tasks", self.max, bounds.batch_max)
    }
}
