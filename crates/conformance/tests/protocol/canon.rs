//! The canonical form of a [`World`]: what can still make a difference, and nothing else. Two
//! worlds of one form have the same futures, so that one of them need be explored.
//!
//! What is left out or made alike, and why that loses nothing:
//!
//! - **Fences by rank, each task for itself.** No rule compares the fences of two tasks, and none
//!   looks at a fence but to compare it. A new one is greater than all, whatever their values.
//! - **Instants relative to now, those that have passed alike**, as nothing is decided by how
//!   long ago something ended. Only a clock that goes back can tell them apart: as long as it
//!   may, the exact differences stay. For the order of service, which does look at instants that
//!   have passed, the order itself is told.
//! - **Decision ids by the hand that can still show them.** An id that nobody can send again is
//!   as good as none.
//! - **Records, counters, the log of grants, holders, attempts, payloads**: no rule reads them. So
//!   does no wrong rule, but for those of the mutants that tell holders or attempts apart; for
//!   these alone a world may be merged with one that differs. That can hide a violation and never
//!   invent one, and each of them is rejected.
//! - **Actors of one part by their contents.** Which of two alike holds a lease is a name.
//! - **The recorded instants of claims and of what is remembered**: an hour does not pass here,
//!   and what is remembered is told by whether it still is.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher};

use leasehold_conformance::model::Model;
use leasehold_core::{ClaimerId, DecisionId, Fence, State, StoredTask, Timestamp, To};

use crate::action;
use crate::config::Config;
use crate::past::Past;
use crate::world::{Hand, World};

/// 128 bits of the canonical form. Among some millions of worlds two that differ meet with a
/// chance of less than one in 10^24.
pub fn fingerprint(config: &Config, world: &World) -> u128 {
    hashed(&Form::of(world).all(config))
}

/// The same of the queue alone, whatever the hands hold and whatever has happened.
pub fn fingerprint_of_queue(world: &World) -> u128 {
    let mut form = Form::of(world);
    form.queue();
    hashed(&form.out)
}

fn hashed(form: &[u8]) -> u128 {
    let half = |salt: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(salt);
        hasher.write(form);
        u128::from(hasher.finish())
    };
    half(0) << 64 | half(1)
}

struct Form<'a> {
    world: &'a World,
    /// The fences of each task in order.
    fences: Vec<(&'a str, Vec<Fence>)>,
    out: Vec<u8>,
}

impl<'a> Form<'a> {
    fn of(world: &'a World) -> Self {
        let mut fences: Vec<(&str, Vec<Fence>)> = Vec::new();
        let Model { tasks, slots, left, claims, .. } = &world.model;
        let mut add =
            |id: &'a str, fence: Option<Fence>| match fences.iter_mut().find(|(its, _)| *its == id)
            {
                Some((_, all)) => all.extend(fence),
                None => fences.push((id, fence.into_iter().collect())),
            };
        for (id, kept) in tasks {
            let task = &kept.task;
            add(id, Some(task.fence));
            add(id, Some(task.born));
            add(id, task.run);
            add(id, task.shown.map(|shown| shown.fence));
        }
        for (id, fence) in slots.values().flat_map(BTreeMap::keys) {
            add(id, Some(*fence));
        }
        for (id, (left, _)) in left {
            add(id, Some(left.shown.fence));
        }
        for (id, fence) in claims.values().flat_map(|claim| &claim.granted) {
            add(id, Some(*fence));
        }
        for (id, past) in &world.past {
            for fence in [Some(past.born), Some(past.fence), past.run, past.operated] {
                add(id, fence);
            }
            add(id, past.shown.map(|(shown, _)| shown));
        }
        for hand in &world.hands {
            if let Some(held) = &hand.held {
                add(&held.lease.task_ref.id, Some(held.lease.fence));
            }
            if let Some(seen) = &hand.seen {
                add(&seen.task_ref.id, Some(seen.fence));
            }
            if let Some(sent) = &hand.sent {
                add(&sent.item.guard.task.id, Some(sent.item.guard.fence));
            }
            if let Some((_, id, fence)) = &hand.ticket.granted {
                add(id, Some(*fence));
            }
        }
        for (_, all) in &mut fences {
            all.sort_unstable();
            all.dedup();
        }
        Self { world, fences, out: Vec::with_capacity(512) }
    }

    fn all(mut self, config: &Config) -> Vec<u8> {
        self.out.extend([self.world.ticks, self.world.backs]);
        for (id, past) in &self.world.past {
            self.past(id, past);
        }
        self.queue();
        self.hands(config);
        self.out
    }

    fn queue(&mut self) {
        let world = self.world;
        for id in world.past.keys() {
            match world.model.task(id) {
                Some(task) => self.task(id, task),
                None => self.out.push(u8::MAX),
            }
            if let Some(left) = world.model.remembered(id) {
                self.out.push(1);
                self.fence(id, Some(left.shown.fence));
                self.state(left.state);
            }
            self.fence(id, world.model.fences.get(id).copied());
        }
        self.order();
        self.slots();
        let held_keys = world.model.held_keys.values();
        for held in held_keys.filter(|held| world.backs > 0 || **held > world.model.now) {
            self.instant(Some(*held));
        }
    }

    fn task(&mut self, id: &str, task: &StoredTask) {
        self.state(task.state);
        for fence in [Some(task.fence), Some(task.born), task.run] {
            self.fence(id, fence);
        }
        self.fence(id, task.shown.map(|shown| shown.fence));
        self.out.push(task.shown.map_or(u8::MAX, |shown| shown.by as u8));
        self.instant(task.until);
        self.instant(task.held_until);
        self.instant((task.state == State::Waiting).then_some(task.due));
        let counts = [task.failures, task.rescues, task.takeovers];
        self.out.extend(counts.map(|count| u8::try_from(count).unwrap_or(u8::MAX)));
        self.out.push(u8::from(task.unique.is_some()));
    }

    fn past(&mut self, id: &str, past: &Past) {
        self.state(past.state);
        let left = past.left.map(|until| until > self.world.model.now);
        let bits = [Some(past.deleted), Some(past.unresolved), left];
        self.out.extend(bits.map(|bit| bit.map_or(2, u8::from)));
        for fence in [Some(past.born), Some(past.fence), past.run, past.operated] {
            self.fence(id, fence);
        }
        self.fence(id, past.shown.map(|(shown, _)| shown));
        self.instant(Some(past.until));
        self.instant((past.state == State::Waiting).then_some(past.due));
        self.instant(past.hold);
        let counts = [past.failures, past.rescues, past.starts.min(1)];
        self.out.extend(counts.map(|count| u8::try_from(count).unwrap_or(u8::MAX)));
    }

    /// In which order tasks are served, and rescued.
    fn order(&mut self) {
        let kept = self.world.model.tasks.values();
        let mut all: Vec<_> = kept
            .enumerate()
            .map(|(at, kept)| {
                let time = kept.task.until.unwrap_or_else(|| kept.task.ready_at());
                (time, kept.seq, u8::try_from(at).unwrap_or(u8::MAX))
            })
            .collect();
        all.sort_unstable();
        self.out.extend(all.into_iter().map(|(.., at)| at));
    }

    fn slots(&mut self) {
        let slots = &self.world.model.slots;
        for ((id, fence), until) in slots.values().flatten() {
            // One that has ended counts for nothing, unless the clock may still go back to it.
            if *until > self.world.model.now || self.world.backs > 0 {
                self.out.push(u8::try_from(id.len()).unwrap_or(u8::MAX));
                self.out.extend(id.as_bytes());
                self.fence(id, Some(*fence));
                self.instant(Some(*until));
            }
        }
    }

    /// Each hand is a block of its own; those of alike actors are put in order.
    fn hands(&mut self, config: &Config) {
        let mut alike: Vec<(usize, Vec<Vec<u8>>)> = Vec::new();
        for (at, actor) in config.actors.iter().enumerate() {
            let kept = std::mem::take(&mut self.out);
            self.hand(at, &self.world.hands[at]);
            let block = std::mem::replace(&mut self.out, kept);
            match alike.iter_mut().find(|(first, _)| config.actors[*first] == *actor) {
                Some((_, blocks)) => blocks.push(block),
                None => alike.push((at, vec![block])),
            }
        }
        for (_, mut blocks) in alike {
            blocks.sort_unstable();
            for block in blocks {
                self.out.push(u8::try_from(block.len()).unwrap_or(u8::MAX));
                self.out.extend(block);
            }
        }
    }

    fn hand(&mut self, at: usize, hand: &Hand) {
        self.out.extend([hand.turns, hand.renews]);
        if let Some(held) = &hand.held {
            let id = held.lease.task_ref.id.as_str();
            self.named(id, held.lease.fence);
            self.out.push(held.lease.purpose as u8);
            self.out.push(u8::from(held.over));
            self.instant(Some(held.end));
            let read = action::reads(&held.lease);
            self.out.extend(read.map(|count| u8::try_from(count).unwrap_or(u8::MAX)));
        }
        self.out.push(u8::MAX);
        if let Some(seen) = &hand.seen {
            self.named(&seen.task_ref.id, seen.fence);
            self.state(seen.state);
        }
        self.out.push(u8::MAX);
        if let Some(sent) = &hand.sent {
            let (id, change) = (sent.item.guard.task.id.as_str(), &sent.item.change);
            self.named(id, sent.item.guard.fence);
            self.out.extend([change.by as u8, change.budget as u8, u8::from(sent.applied)]);
            self.out.push(kind(change.to));
            self.out.push(u8::try_from(change.follow_ups.len()).unwrap_or(u8::MAX));
            let shows = self.shows(id, sent.item.decision);
            self.out.extend(shows.map(u8::from));
        }
        self.out.push(u8::MAX);
        let ticket = &hand.ticket;
        self.out.extend([u8::from(ticket.lost), u8::from(ticket.stray)]);
        self.out.push(u8::try_from(ticket.seq).unwrap_or(u8::MAX));
        if let Some((seq, id, fence)) = &ticket.granted {
            self.out.push(u8::try_from(*seq).unwrap_or(u8::MAX));
            self.named(id, *fence);
        }
        if let Some(record) = self.world.model.claims.get(&ClaimerId::from_bits(at as u128 + 1)) {
            self.out.push(u8::try_from(record.seq).unwrap_or(u8::MAX));
            for (id, fence) in &record.granted {
                self.named(id, *fence);
            }
        }
    }

    /// Whether the decision is the last one of the task: by what it holds, what is remembered of
    /// it, and by what has happened.
    fn shows(&self, id: &str, decision: DecisionId) -> [bool; 3] {
        let shown = |shown: Option<DecisionId>| shown == Some(decision);
        let task = self.world.model.task(id).and_then(|task| task.shown);
        let left = self.world.model.remembered(id);
        let past = self.world.past.get(id).and_then(|past| past.shown);
        [
            shown(task.map(|task| task.decision)),
            shown(left.map(|left| left.shown.decision)),
            shown(past.map(|(_, decision)| decision)),
        ]
    }

    fn named(&mut self, id: &str, fence: Fence) {
        self.out.push(u8::try_from(id.len()).unwrap_or(u8::MAX));
        self.out.extend(id.as_bytes());
        self.fence(id, Some(fence));
    }

    /// The rank. One that nothing else has, such as the greatest of a task that is no more, has
    /// the rank of the place where it would stand.
    fn fence(&mut self, id: &str, fence: Option<Fence>) {
        let all = self.fences.iter().find(|(its, _)| *its == id);
        let all = all.map_or(&[][..], |(_, all)| all.as_slice());
        let rank = fence.map(|fence| all.binary_search(&fence).unwrap_or_else(|at| at));
        let rank = rank.map(|rank| u8::try_from(rank).unwrap_or(u8::MAX - 1));
        self.out.push(rank.unwrap_or(u8::MAX));
    }

    fn instant(&mut self, instant: Option<Timestamp>) {
        let Some(instant) = instant.filter(|instant| *instant != Timestamp::MIN) else {
            return self.out.push(0);
        };
        let ahead = instant.as_millis() - self.world.model.now.as_millis();
        let told = if self.world.backs > 0 { ahead } else { ahead.max(0) };
        self.out.push(1);
        self.out.extend(i32::try_from(told).unwrap_or(i32::MAX).to_le_bytes());
    }

    fn state(&mut self, state: State) {
        let at = State::ALL.iter().position(|one| *one == state);
        self.out.push(at.and_then(|at| u8::try_from(at).ok()).unwrap_or(u8::MAX));
    }
}

fn kind(to: To) -> u8 {
    match to {
        To::Waiting(leasehold_core::When::Unchanged) => 0,
        To::Waiting(_) => 1,
        To::Succeeded => 2,
        To::Cancelled => 3,
        To::Same => 4,
        To::Gone => 5,
        To::Dead(reason) => 6 + reason as u8,
    }
}
