//! Seeds into plans.

use leasehold_core::decide::Intervention;
use leasehold_core::{Configure, Features, NewTask, OnLeased, Purpose};

use super::values::{self, KINDS, Style, ms};
use super::{Ask, Cmd, End, Extend, Pick, Plan, Turn};
use crate::moves::ENDINGS;
use crate::random::Random;

/// A history of so many commands by one caller, with these features only.
pub(crate) fn sequential(seed: u64, commands: usize, features: Features) -> Plan {
    let mut random = Random::new(seed);
    let backward = random.chance(40);
    let mut style = Style { features, ids: 6 + random.below(7) };
    // After a step back of the clock it is not ordered whether the next holder of a unique key
    // still waits for a lease whose end was seen: it depends on where a store keeps that end.
    if backward {
        style.features -= Features::UNIQUE;
    }
    let mut maker = Maker { random, style, backward, claimers: [0, 1], made: Vec::new() };
    maker.set_up();
    while maker.made.len() < commands {
        maker.command();
    }
    maker.made.truncate(commands);
    Plan { prefix: maker.made, lanes: Vec::new() }
}

/// Two rounds of `lanes` callers with so many commands each. Histories that use `features`
/// only as far as one task stands by itself can be judged task by task.
pub(crate) fn concurrent(
    seed: u64,
    lanes: usize,
    commands: usize,
    features: Features,
) -> [Plan; 2] {
    let mut random = Random::new(seed ^ 0x6c61_6e65);
    let style = Style { features, ids: 2 + random.below(4) };
    let mut maker = Maker { random, style, backward: false, claimers: [0, 0], made: Vec::new() };
    maker.set_up();
    for _ in 0..3 {
        maker.enqueue(2);
    }
    maker.claim_of(Purpose::Run, 2);
    if maker.random.chance(50) {
        maker.made.push(Cmd::Shift(1_000));
        maker.claim_of(Purpose::Rescue, 1);
        maker.claim_of(Purpose::Run, 1);
    }
    let prefix = std::mem::take(&mut maker.made);
    let first = Plan { prefix, lanes: maker.lanes(lanes, commands) };
    let shift = maker.random.pick(&[0, 300, 1_000, 1_000, 5_000]);
    let second = Plan { prefix: vec![Cmd::Shift(shift)], lanes: maker.lanes(lanes, commands) };
    [first, second]
}

struct Maker {
    random: Random,
    style: Style,
    /// Whether the clock goes back at times.
    backward: bool,
    /// The claiming loops that the commands may speak for.
    claimers: [usize; 2],
    made: Vec<Cmd>,
}

impl Maker {
    /// Without a limit for the group no task of it can be enqueued.
    fn set_up(&mut self) {
        let request = Configure::new("").with_id_memory(ms(5_000));
        self.made.push(Cmd::Configure(match self.style.has(Features::LIMITS) {
            true => request.with_limit("g", self.random.pick(&[1, 1, 2])),
            false => request,
        }));
    }

    fn command(&mut self) {
        match self.random.below(100) {
            0..16 => self.enqueue(3),
            16..30 => self.claim(),
            30..37 => self.renew(3),
            37..52 => self.end(3),
            52..56 => self.again(),
            56..68 => self.act(),
            68..70 => self.get(),
            70..84 => self.episode(),
            84 => self.made.push(Cmd::Count),
            85..87 => self.list(),
            87..90 => self.configure(),
            90..92 => self.made.push(Cmd::Purge),
            _ => self.shift(),
        }
    }

    /// Each lane by itself, for a claiming loop of its own: no loop has two claims open.
    fn lanes(&mut self, lanes: usize, commands: usize) -> Vec<Vec<Cmd>> {
        let lane = |at: usize| {
            self.claimers = [2 + at; 2];
            while self.made.len() < commands {
                self.concurrent();
            }
            self.made.truncate(commands);
            std::mem::take(&mut self.made)
        };
        (0..lanes).map(lane).collect()
    }

    fn concurrent(&mut self) {
        match self.random.below(100) {
            0..10 => self.enqueue(1),
            10..35 => self.claim(),
            35..47 => self.renew(1),
            47..70 => self.end(1),
            70..75 => self.again(),
            75..88 => self.act(),
            88..96 => self.get(),
            96..98 => {
                let request = Configure::new("");
                let pause = self.random.chance(30);
                let request = if pause { request.pause() } else { request.resume() };
                self.made.push(Cmd::Configure(request));
            }
            // A purge touches every task, so that it has no place in a history of one.
            _ if self.style.has(Features::FOLLOW_UPS) => self.made.push(Cmd::Purge),
            _ => self.get(),
        }
        let dropped = self.random.chance(12);
        if let Some(cmd) = self.made.pop_if(|_| dropped) {
            let polls = self.random.below(4);
            self.made.push(Cmd::Dropped { polls, cmd: Box::new(cmd) });
        }
    }

    fn enqueue(&mut self, most: usize) {
        let many = 1 + self.random.below(most);
        let mut tasks: Vec<_> = (0..many).map(|_| self.style.task(&mut self.random)).collect();
        // A group without a number is Invalid.
        if let (true, Some(limit)) = (self.random.chance(3), &mut tasks[0].limit) {
            limit.group = "none".to_owned();
        }
        self.made.push(Cmd::Enqueue(tasks));
    }

    fn claim(&mut self) {
        let purpose = if self.random.chance(65) { Purpose::Run } else { Purpose::Rescue };
        let most = 1 + self.random.below(3);
        self.claim_of(purpose, most);
    }

    fn claim_of(&mut self, purpose: Purpose, max: usize) {
        let random = &mut self.random;
        let ttl = random.pick(&[ms(500), ms(1_000), ms(1_000), ms(5_000)]);
        let kinds = self.style.features.contains(Features::KINDS) && random.chance(20);
        let kind = kinds.then(|| random.pick(&KINDS));
        let named = self.style.features.contains(Features::REPLAY) && random.chance(40);
        let ticket = named.then(|| {
            let turn = match random.below(20) {
                0 => Turn::Older,
                1..7 => Turn::Again,
                _ => Turn::Next,
            };
            (random.pick(&self.claimers), turn)
        });
        self.made.push(Cmd::Claim(Ask { purpose, max, ttl, kind, ticket }));
    }

    /// Mostly one of the newest.
    fn recent(&mut self) -> usize {
        match self.random.below(20) {
            0..9 => 0,
            9..13 => 1,
            13..18 => self.random.below(6),
            _ => self.random.below(40),
        }
    }

    fn lease(&mut self) -> Pick {
        match self.random.chance(15) {
            true => Pick::Lost(self.random.below(4)),
            false => Pick::Ago(self.recent()),
        }
    }

    fn renew(&mut self, most: usize) {
        let many = 1 + self.random.below(most);
        let mut items = Vec::new();
        for _ in 0..many {
            let lease = self.lease();
            // A millisecond is Invalid.
            let ttl = self.random.pick(&[ms(1), ms(500), ms(1_000), ms(1_000), ms(3_000)]);
            let noted = self.random.chance(40);
            let note = noted.then(|| self.random.pick(&["", "half"]));
            items.push(Extend { lease, ttl, note });
        }
        self.made.push(Cmd::Renew(items));
    }

    fn end(&mut self, most: usize) {
        let many = if self.random.chance(70) { 1 } else { 1 + self.random.below(most) };
        let ends = (0..many).map(|_| {
            let lease = self.lease();
            self.end_of(lease)
        });
        let ends = ends.collect();
        self.made.push(Cmd::End(ends));
    }

    fn end_of(&mut self, lease: Pick) -> End {
        // Every third is a success, the first of them; more often where it may be late.
        let success = if matches!(lease, Pick::Lost(_)) { 55 } else { 33 };
        let how = if self.random.chance(success) { 0 } else { self.random.below(ENDINGS.len()) };
        let astray = self.random.chance(8);
        let mut follow_ups = Vec::new();
        if self.style.has(Features::FOLLOW_UPS) && self.random.chance(30) {
            follow_ups.push(self.style.task(&mut self.random));
        }
        End { lease, how, astray, follow_ups }
    }

    fn again(&mut self) {
        let sent = self.recent();
        self.made.push(Cmd::Again(sent));
    }

    fn get(&mut self) {
        let id = self.style.id(&mut self.random);
        self.made.push(Cmd::Get(id));
    }

    /// Mostly on the task as it is; at times on an older sight.
    fn act(&mut self) {
        let old = self.random.chance(35);
        match self.random.chance(40) {
            _ if old => {}
            true => self.made.push(Cmd::GetHeld(Pick::Ago(self.random.below(4)))),
            false => self.get(),
        }
        let sight = if old { self.random.below(6) } else { 0 };
        self.act_on(sight);
    }

    /// A few commands that belong together, which chance alone brings about too rarely.
    fn episode(&mut self) {
        match self.random.below(20) {
            18 => self.overtaken(),
            19 => self.finished(),
            0..5 => self.lost_worker(),
            5..8 => self.overdue(),
            8 => self.held_key(),
            9 | 10 => self.conflict(),
            11 => self.leaves(),
            12 => self.reborn(),
            13 => self.extended(),
            14 if self.backward => self.swept(),
            _ => self.retaken(),
        }
    }

    /// A run lapses, a rescuer comes, and then somebody decides.
    fn lost_worker(&mut self) {
        self.claim_of(Purpose::Run, 2);
        self.made.push(Cmd::Shift(1_000));
        self.claim_of(Purpose::Rescue, 3);
        for _ in 0..=self.random.below(3) {
            let near = self.random.below(3);
            match self.random.below(10) {
                0..4 => self.end_by(Pick::Ago(near)),
                4..7 => self.end_by(Pick::Lost(near)),
                7 => self.renew_by(Pick::Lost(near)),
                8 => self.taken_over(),
                _ => {
                    self.made.push(Cmd::GetHeld(Pick::Ago(near)));
                    self.act_on(near % 2);
                }
            }
        }
        let near = self.random.below(3);
        match self.random.chance(70) {
            true => self.end_by(Pick::Lost(near % 2)),
            false => self.renew_by(Pick::Lost(near % 2)),
        }
        if self.random.chance(30) {
            self.renew_by(Pick::Ago(near));
        }
    }

    /// The rescuer is lost as well, and speaks after another came; so does an operator.
    fn taken_over(&mut self) {
        let near = Pick::Ago(self.random.below(2));
        self.made.extend([Cmd::GetHeld(near), Cmd::Shift(1_000)]);
        if self.random.chance(70) {
            self.claim_of(Purpose::Rescue, 2);
        }
        let first = Pick::Ago(1 + self.random.below(2));
        match self.random.below(3) {
            0 => self.renew_by(first),
            1 => self.end_by(first),
            _ => self.act_on(0),
        }
    }

    /// A lease passes, and nobody comes before it is decided about.
    fn overdue(&mut self) {
        let purpose = self.random.pick(&[Purpose::Run, Purpose::Run, Purpose::Rescue]);
        self.claim_of(purpose, 2);
        self.made.push(Cmd::Shift(1_000));
        match self.random.chance(50) {
            true => self.end_by(Pick::Ago(0)),
            false => {
                self.made.push(Cmd::GetHeld(Pick::Ago(0)));
                self.act_on(0);
            }
        }
    }

    fn end_by(&mut self, lease: Pick) {
        let end = self.end_of(lease);
        self.made.push(Cmd::End(vec![end]));
    }

    /// A lease is taken away and its task runs again, and then the first holders speak.
    fn retaken(&mut self) {
        self.claim_of(Purpose::Run, 1);
        if self.random.chance(50) {
            self.made.push(Cmd::Shift(1_000));
            self.claim_of(Purpose::Rescue, 1);
        }
        let act = Intervention::Requeue(OnLeased::Revoke);
        self.made.extend([Cmd::GetHeld(Pick::Ago(0)), Cmd::Act { sight: 0, act }]);
        self.made.push(Cmd::Shift(1_000));
        self.claim_of(Purpose::Run, 3);
        if self.random.chance(30) {
            self.made.push(Cmd::Shift(1_000));
            self.claim_of(Purpose::Rescue, 3);
        }
        for ago in 1..5 {
            match self.random.below(10) {
                0..6 => self.end_by(Pick::Ago(ago)),
                6..8 => self.renew_by(Pick::Ago(ago)),
                _ => self.act_on(0),
            }
        }
    }

    /// Two rescuers come to a lapsed run, its task runs again, and all that came before speak.
    fn overtaken(&mut self) {
        self.claim_of(Purpose::Run, 2);
        self.made.push(Cmd::Shift(5_000));
        self.claim_of(Purpose::Rescue, 2);
        self.made.extend([Cmd::GetHeld(Pick::Ago(0)), Cmd::Shift(5_000)]);
        self.claim_of(Purpose::Rescue, 2);
        for ago in 0..2 {
            self.end_by(Pick::Ago(ago));
        }
        self.claim_of(Purpose::Run, 3);
        if self.random.chance(40) {
            self.made.push(Cmd::Shift(5_000));
            self.claim_of(Purpose::Rescue, 3);
        }
        self.act_on(0);
        for ago in 1..7 {
            if self.random.chance(60) {
                self.end_by(Pick::Ago(ago));
            }
        }
    }

    /// A run ends for good, and an operator comes to what it left.
    fn finished(&mut self) {
        self.claim_of(Purpose::Run, 2);
        for ago in 0..2 {
            self.end_by(Pick::Ago(ago));
            let act = self.random.pick(&[Intervention::Delete, Intervention::Redrive]);
            self.made.extend([Cmd::Again(0), Cmd::GetHeld(Pick::Ago(ago))]);
            self.made.push(Cmd::Act { sight: 0, act });
        }
    }

    /// A renew carries a slot past the end that the claim gave it.
    fn extended(&mut self) {
        self.enqueue_by(Style::limited);
        self.claim_of(Purpose::Run, 2);
        self.made.push(Cmd::Shift(300));
        for ago in 0..2 {
            let (lease, ttl) = (Pick::Ago(ago), ms(3_000));
            self.made.push(Cmd::Renew(vec![Extend { lease, ttl, note: None }]));
        }
        self.made.push(Cmd::Shift(1_000));
        self.claim_of(Purpose::Run, 3);
    }

    /// A task leaves, is forgotten, and comes again under its id.
    fn reborn(&mut self) {
        self.claim_of(Purpose::Run, 1);
        let act = Intervention::Delete;
        self.made.extend([Cmd::GetHeld(Pick::Ago(0)), Cmd::Act { sight: 0, act }]);
        self.made.extend([Cmd::Shift(10_000), Cmd::Purge, Cmd::Shift(6_000)]);
        self.enqueue(3);
        self.enqueue(3);
        self.act_on(0);
        self.end_by(Pick::Ago(0));
        self.renew_by(Pick::Ago(0));
    }

    /// The clock goes back to before the end of a lease whose slot was swept.
    fn swept(&mut self) {
        self.claim_of(Purpose::Run, 3);
        self.made.extend([Cmd::Shift(1_000), Cmd::Purge, Cmd::Shift(-1_000)]);
        for ago in 0..3 {
            self.renew_by(Pick::Ago(ago));
        }
    }

    fn renew_by(&mut self, lease: Pick) {
        self.made.push(Cmd::Renew(vec![Extend { lease, ttl: ms(1_000), note: None }]));
    }

    fn act_on(&mut self, sight: usize) {
        let act = values::act(&mut self.random);
        self.made.push(Cmd::Act { sight, act });
    }

    /// An operator takes a running holder of a unique key away, and another takes the key.
    fn held_key(&mut self) {
        self.enqueue_by(Style::keyed);
        self.claim_of(Purpose::Run, 3);
        self.made.push(Cmd::GetHeld(Pick::Ago(self.random.below(3))));
        let ends = [Intervention::Cancel, Intervention::Bury, Intervention::Delete];
        let act = self.random.pick(&ends);
        self.made.push(Cmd::Act { sight: 0, act });
        self.enqueue_by(Style::keyed);
    }

    /// Three tasks that are alike in this way.
    fn enqueue_by(&mut self, alike: fn(&Style, &mut Random, NewTask) -> NewTask) {
        let Self { random, style, .. } = self;
        let tasks = (0..3).map(|_| {
            let new = style.task(random);
            alike(style, random, new)
        });
        let tasks = tasks.collect();
        self.made.push(Cmd::Enqueue(tasks));
    }

    /// A task that has finished wants its unique key back, which another has taken.
    fn conflict(&mut self) {
        self.enqueue_by(Style::keyed);
        self.claim_of(Purpose::Run, 3);
        let near = Pick::Ago(self.random.below(3));
        self.made.extend([Cmd::GetHeld(near), Cmd::Act { sight: 0, act: Intervention::Bury }]);
        self.enqueue_by(Style::keyed);
        self.made.extend([Cmd::GetHeld(near), Cmd::Act { sight: 0, act: Intervention::Redrive }]);
    }

    /// What is known of a task after its end.
    fn leaves(&mut self) {
        self.claim_of(Purpose::Run, 1);
        self.end_by(Pick::Ago(0));
        self.made.push(Cmd::Again(0));
        self.renew(1);
        self.end_by(Pick::Ago(0));
        self.made.push(Cmd::Again(1));
    }

    fn list(&mut self) {
        let filter = values::filter(&mut self.random);
        let recent = self.random.chance(20);
        self.made.push(Cmd::List { filter, recent });
    }

    fn configure(&mut self) {
        let request = self.style.settings(&mut self.random);
        self.made.push(Cmd::Configure(request));
    }

    fn shift(&mut self) {
        let random = &mut self.random;
        if self.backward && random.chance(30) {
            // Ended slots are swept first: how soon a store does so is not ordered, and one
            // that was swept does not come back.
            let back = i64::try_from(random.below(3_000)).expect("it is small");
            self.made.extend([Cmd::Purge, Cmd::Shift(-back)]);
            return;
        }
        let by = match random.below(20) {
            0 => 2 * 60 * 60 * 1_000,
            1 => 25 * 60 * 60 * 1_000,
            2..5 => 10_000,
            5..11 => random.pick(&[1, 300, 500, 1_000]),
            _ => i64::try_from(random.below(1_500)).expect("it is small"),
        };
        self.made.push(Cmd::Shift(by));
    }
}
