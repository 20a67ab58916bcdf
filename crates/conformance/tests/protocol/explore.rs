//! [`explore`]: every world that a configuration can reach, nearest first.

use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::time::Duration;

use leasehold_core::Clock;

use crate::action::{Action, enabled};
use crate::canon::{fingerprint, fingerprint_of_queue};
use crate::config::Config;
use crate::drain::drains;
use crate::fault::Fault;
use crate::law::Broken;
use crate::reached;
use crate::step::take;
use crate::world::World;

/// What an exploration found.
pub struct Found {
    pub states: usize,
    pub transitions: usize,
    /// Steps to the farthest world.
    pub depth: usize,
    pub time: Duration,
    /// How often each verdict and each state was met.
    pub reached: BTreeMap<&'static str, u64>,
    /// The shortest way to a broken law.
    pub broken: Option<(Broken, Vec<Action>)>,
}

/// A step on the way: where it came from and which of the enabled actions it was.
#[derive(Clone, Copy)]
struct Link {
    from: u32,
    chosen: u8,
}

type Seen = HashSet<u128, BuildHasherDefault<Already>>;

struct Search<'a> {
    config: &'a Config,
    fault: &'a dyn Fault,
    seen: Seen,
    /// Queues that were worked off.
    drained: Seen,
    links: Vec<Link>,
    found: Found,
}

/// Explores `config` under `fault` to the end, or to the first broken law.
pub fn explore(config: &Config, fault: &dyn Fault) -> Found {
    let clock = Clock::default();
    let begun = clock.now();
    let found = Found {
        states: 0,
        transitions: 0,
        depth: 0,
        time: Duration::ZERO,
        reached: BTreeMap::new(),
        broken: None,
    };
    let mut search = Search {
        config,
        fault,
        seen: Seen::default(),
        drained: Seen::default(),
        links: Vec::new(),
        found,
    };
    let start = World::start(config);
    search.seen.insert(fingerprint(config, &start));
    search.links.push(Link { from: 0, chosen: 0 });
    let mut layer = vec![(0, start)];
    while !layer.is_empty() && search.found.broken.is_none() {
        layer = search.next_layer(layer);
        search.found.depth += 1;
    }
    search.found.states = search.links.len();
    search.found.time = clock.now().since(begun);
    search.found
}

impl Search<'_> {
    /// Every new world one step beyond `layer`. Each world of the layer is drained last, so that
    /// a law about one step has the first word.
    fn next_layer(&mut self, layer: Vec<(u32, World)>) -> Vec<(u32, World)> {
        let mut next = Vec::new();
        for (at, world) in &layer {
            for (chosen, action) in enabled(self.config, world).into_iter().enumerate() {
                let step = take(self.config, self.fault, world, &action);
                self.found.transitions += 1;
                reached::count(&step, &mut self.found.reached);
                if let Some(broken) = step.broken {
                    let mut way = self.way(*at);
                    way.push(action);
                    self.found.broken = Some((broken, way));
                    return Vec::new();
                }
                if self.seen.insert(fingerprint(self.config, &step.world)) {
                    let chosen = u8::try_from(chosen).expect("few actions are enabled at once");
                    let place = u32::try_from(self.links.len()).expect("less than 2^32 worlds");
                    self.links.push(Link { from: *at, chosen });
                    next.push((place, step.world));
                }
            }
        }
        let stuck = layer.iter().find_map(|(at, world)| {
            let new = self.drained.insert(fingerprint_of_queue(world));
            let drained = if new { drains(self.config, self.fault, world) } else { Ok(()) };
            drained.err().map(|broken| (broken, *at))
        });
        if let Some((broken, at)) = stuck {
            self.found.broken = Some((broken, self.way(at)));
            return Vec::new();
        }
        next
    }

    /// The actions that led to the world with this number.
    fn way(&self, mut at: u32) -> Vec<Action> {
        let mut choices = Vec::new();
        while at != 0 {
            let link = self.links[at as usize];
            choices.push(link.chosen);
            at = link.from;
        }
        let mut world = World::start(self.config);
        let mut way = Vec::new();
        for chosen in choices.into_iter().rev() {
            let action = enabled(self.config, &world).swap_remove(usize::from(chosen));
            world = take(self.config, self.fault, &world, &action).world;
            way.push(action);
        }
        way
    }
}

/// A fingerprint is a hash already.
#[derive(Default)]
struct Already(u64);

impl Hasher for Already {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("only fingerprints are hashed");
    }

    fn write_u128(&mut self, fingerprint: u128) {
        self.0 = u64::try_from(fingerprint >> 64).unwrap_or(0);
    }
}
