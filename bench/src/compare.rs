//! Runs the pairs: each step of each party in a process of its own.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

use crate::Fault;
use crate::args::Wanted;
use crate::info::{Info, Server};
use crate::machine::Machine;
use crate::party::{Backlog, Name, Step};
use crate::plan::{self, Against, Fresh, Loaded, PAIRS, Work};
use crate::report::{Comparison, Report, Side};
use crate::sample::{Sample, Told};

/// The longest that a step may take: one that hangs must not hang the benchmark.
const STEP_MAX: Duration = Duration::from_secs(300);

/// Runs what is wanted, and reports it.
pub async fn run(wanted: &Wanted) -> Result<(), Fault> {
    let mut servers = Servers::open(wanted).await?;
    let settings = servers.empty.server.settings().await?;
    let mut report = Report::new(&wanted.backend, wanted.quick, Machine::look(), settings);
    report.print_head();
    let does = |work| wanted.works.is_empty() || wanted.works.contains(&work);
    for fresh in plan::fresh(wanted.quick) {
        if does(Work::Drain) || (does(Work::EnqueueBulk) && fresh.is_bulk) {
            for comparison in servers.on_nothing(fresh).await? {
                if does(comparison.work) {
                    report.add(comparison);
                }
            }
        }
    }
    for loaded in plan::loaded(wanted.quick) {
        if does(loaded.work) {
            report.add(servers.on_backlog(loaded).await?);
        }
    }
    report.write(wanted)
}

/// A server, and how to reach it.
struct Place {
    url: String,
    server: Server,
}

impl Place {
    async fn at(url: &str) -> Result<Self, Fault> {
        Ok(Self { url: url.to_owned(), server: Server::at(url).await? })
    }

    /// Does one step in a process of its own; also tells the counters from before and after.
    async fn step(&mut self, party: Name, step: Step, count: u64) -> Result<Done, Fault> {
        let before = self.server.info().await?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["part", "--party", party.word(), "--step", step.word()]);
        command.args(["--url", self.url.as_str(), "--count", count.to_string().as_str()]);
        command.stdin(Stdio::null()).stderr(Stdio::inherit()).kill_on_drop(true);
        let what = format!("{} {}", party.word(), step.word());
        let output = timeout(STEP_MAX, command.output()).await;
        let output = output.map_err(|_| format!("{what} has not ended in {STEP_MAX:?}"))??;
        if !output.status.success() {
            return Err(format!("{what} failed").into());
        }
        let told: Told = serde_json::from_slice(&output.stdout)?;
        Ok(Done { told, before, after: self.server.info().await?, count })
    }

    /// Fills and drains; the samples of both.
    async fn run(&mut self, party: Name, count: u64) -> Result<[Sample; 2], Fault> {
        let fill = self.step(party, Step::Fill(Backlog::Ready), count).await?.sample();
        let drain = self.step(party, Step::Drain, count).await?.sample();
        Ok([fill, drain])
    }
}

/// A step that was done.
struct Done {
    told: Told,
    before: Info,
    after: Info,
    count: u64,
}

impl Done {
    fn sample(&self) -> Sample {
        Sample::of(&self.told, self.before, self.after, self.count)
    }
}

/// The two servers.
struct Servers {
    empty: Place,
    loaded: Place,
}

impl Servers {
    async fn open(wanted: &Wanted) -> Result<Self, Fault> {
        let (empty, loaded) = (Place::at(&wanted.empty).await?, Place::at(&wanted.loaded).await?);
        Ok(Self { empty, loaded })
    }

    /// Ours and another party in turn, each on an empty server.
    async fn on_nothing(&mut self, fresh: Fresh) -> Result<Vec<Comparison>, Fault> {
        let Fresh { other, against, count, is_bulk } = fresh;
        let (mut fills, mut drains) = (Pairs::default(), Pairs::default());
        for pair in 0..PAIRS {
            let mut order = [(true, Name::Ours), (false, other)];
            order.rotate_left(pair % 2);
            for (is_ours, party) in order {
                self.empty.server.empty().await?;
                let [fill, drain] = self.empty.run(party, count).await?;
                fills.push(is_ours, fill);
                drains.push(is_ours, drain);
            }
        }
        self.empty.server.empty().await?;
        let bytes =
            |pairs: &Pairs| pairs.ours.iter().chain(&pairs.other).map(|s| s.bytes).collect();
        let bytes: Vec<f64> = bytes(&fills);
        let (our_bytes, other_bytes) = bytes.split_at(PAIRS);
        let drain = Comparison::new(Work::Drain, against, other.word(), count, drains.sides(other))
            .with_bytes(our_bytes, other_bytes);
        let enqueue = is_bulk.then(|| {
            let sides = fills.sides(other);
            Comparison::new(Work::EnqueueBulk, against, other.word(), count, sides)
                .with_bytes(our_bytes, other_bytes)
        });
        Ok([Some(drain), enqueue].into_iter().flatten().collect())
    }

    /// Ours on a queue with a backlog and ours on an empty one, in turn.
    async fn on_backlog(&mut self, loaded: Loaded) -> Result<Comparison, Fault> {
        let Loaded { work, backlog, load, count } = loaded;
        self.empty.server.empty().await?;
        self.loaded.server.empty().await?;
        let made = self.loaded.step(Name::Ours, Step::Fill(backlog), load).await?;
        let sample = made.sample();
        println!(
            "{}: a backlog of {load} was made at {:.0}/s, {:.0} bytes each",
            work.word(),
            sample.rate,
            sample.bytes
        );
        let (mut drains, mut bytes) = (Pairs::default(), (Vec::new(), Vec::new()));
        for pair in 0..PAIRS {
            let mut order = [true, false];
            order.rotate_left(pair % 2);
            for is_loaded in order {
                let place = if is_loaded { &mut self.loaded } else { &mut self.empty };
                let [fill, drain] = place.run(Name::Ours, count).await?;
                drains.push(is_loaded, drain);
                (if is_loaded { &mut bytes.0 } else { &mut bytes.1 }).push(fill.bytes);
            }
        }
        self.loaded.server.empty().await?;
        let sides = drains.sides(Name::Ours);
        Ok(Comparison::new(work, Against::Ours, Work::Drain.word(), count, sides)
            .with_bytes(&bytes.0, &bytes.1))
    }
}

/// The samples of both sides, in the order of the pairs.
#[derive(Default)]
struct Pairs {
    ours: Vec<Sample>,
    other: Vec<Sample>,
}

impl Pairs {
    fn push(&mut self, is_ours: bool, sample: Sample) {
        (if is_ours { &mut self.ours } else { &mut self.other }).push(sample);
    }

    fn sides(self, other: Name) -> [Side; 2] {
        [Side::new(Name::Ours, self.ours), Side::new(other, self.other)]
    }
}
