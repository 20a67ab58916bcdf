//! [`Report`]: what was measured, as a table, as JSON, and as one line a comparison.

use std::fmt::Write as _;
use std::fs;

use serde::Serialize;

use crate::Fault;
use crate::args::Wanted;
use crate::machine::Machine;
use crate::party::Name;
use crate::plan::{Against, PAIRS, Work};
use crate::sample::{Sample, Spread};

/// All of one run of the program.
#[derive(Serialize)]
pub struct Report {
    backend: String,
    quick: bool,
    pairs: usize,
    machine: Machine,
    server: Vec<(String, String)>,
    comparisons: Vec<Comparison>,
}

/// Ours and one other, over some pairs of runs.
#[derive(Serialize)]
pub struct Comparison {
    /// What was done.
    pub work: Work,
    against: Against,
    name: String,
    tasks: u64,
    /// Our rate by the other's, of each pair.
    ratio: Spread,
    sides: [Side; 2],
}

/// One party's figures.
#[derive(Serialize)]
pub struct Side {
    party: Name,
    rate: Spread,
    server_us: Spread,
    client_us: Spread,
    commands: Spread,
    reads: Spread,
    peak_kib: Spread,
    bytes_per_waiting_task: Option<Spread>,
    samples: Vec<Sample>,
}

impl Side {
    /// Of one sample or more.
    pub fn new(party: Name, samples: Vec<Sample>) -> Self {
        let spread = |of: fn(&Sample) -> f64| Spread::of(samples.iter().map(of));
        Self {
            party,
            rate: spread(|s| s.rate),
            server_us: spread(|s| s.server_us),
            client_us: spread(|s| s.client_us),
            commands: spread(|s| s.commands),
            reads: spread(|s| s.reads),
            peak_kib: spread(|s| s.peak_kib),
            bytes_per_waiting_task: None,
            samples,
        }
    }
}

impl Comparison {
    /// Ours first, in the order of the pairs.
    pub fn new(work: Work, against: Against, name: &str, tasks: u64, sides: [Side; 2]) -> Self {
        let [ours, other] = &sides;
        let pairs = ours.samples.iter().zip(&other.samples);
        let ratio = Spread::of(pairs.map(|(ours, other)| ours.rate / other.rate));
        Self { work, against, name: name.to_owned(), tasks, ratio, sides }
    }

    /// What the server kept for each task while it waited, on both sides.
    pub fn with_bytes(mut self, ours: &[f64], other: &[f64]) -> Self {
        for (side, bytes) in self.sides.iter_mut().zip([ours, other]) {
            side.bytes_per_waiting_task = Some(Spread::of(bytes.iter().copied()));
        }
        self
    }

    /// Whether a side is ours behind a backlog.
    fn label(&self, at: usize, side: &Side) -> String {
        match (self.against, at) {
            (Against::Ours, 0) => format!("ours, {}", self.work.word()),
            (Against::Ours, _) => format!("ours, {}", self.name),
            _ => side.party.word().to_owned(),
        }
    }

    fn ratio_line(&self, backend: &str) -> String {
        let (work, against, name) = (self.work.word(), self.against.word(), &self.name);
        format!("RATIO {backend} {work} ours/{against} {name} {:.2}", self.ratio.median)
    }
}

impl Report {
    /// Nothing measured yet.
    pub fn new(
        backend: &str,
        quick: bool,
        machine: Machine,
        server: Vec<(String, String)>,
    ) -> Self {
        let backend = backend.to_owned();
        Self { backend, quick, pairs: PAIRS, machine, server, comparisons: Vec::new() }
    }

    /// Prints where the figures come from.
    pub fn print_head(&self) {
        print!("{}", self.head());
    }

    /// Adds a comparison, and prints it.
    pub fn add(&mut self, comparison: Comparison) {
        let [ours, other] = &comparison.sides;
        println!(
            "{} of {} tasks: {:.0}/s against {:.0}/s, ratio {:.2} ({:.2} to {:.2})",
            comparison.work.word(),
            comparison.tasks,
            ours.rate.median,
            other.rate.median,
            comparison.ratio.median,
            comparison.ratio.min,
            comparison.ratio.max
        );
        println!("{}", comparison.ratio_line(&self.backend));
        self.comparisons.push(comparison);
    }

    /// Prints the table and the ratios, and writes the files that were asked for.
    pub fn write(&self, wanted: &Wanted) -> Result<(), Fault> {
        let table = format!("{}\n{}", self.head(), self.table());
        if let Some(path) = &wanted.json {
            fs::write(path, serde_json::to_string_pretty(self)?)?;
        }
        if let Some(path) = &wanted.table {
            fs::write(path, &table)?;
        }
        println!("\n{}", self.table());
        for comparison in &self.comparisons {
            println!("{}", comparison.ratio_line(&self.backend));
        }
        Ok(())
    }

    fn head(&self) -> String {
        let Machine { cores, cpu, kernel, load } = &self.machine;
        let server: Vec<_> = self.server.iter().map(|(name, v)| format!("{name} {v:?}")).collect();
        format!(
            "{cores} cores, {cpu}, Linux {kernel}, load {load} at the begin\n{}: {}\n{} pairs{}\n",
            self.backend,
            server.join(", "),
            self.pairs,
            if self.quick { ", quick" } else { "" }
        )
    }

    fn table(&self) -> String {
        let mut table = "| work | tasks | party | tasks/s (min-max) | ratio (min-max) \
             | server us/task | client us/task | commands/task | reads/task \
             | bytes/waiting task | peak RSS MiB |\n\
             |---|---|---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
        for comparison in &self.comparisons {
            for (at, side) in comparison.sides.iter().enumerate() {
                let ratio = if at == 0 { shown(comparison.ratio, 2) } else { String::new() };
                let bytes = side.bytes_per_waiting_task.map(|b| format!("{:.0}", b.median));
                let _ = writeln!(
                    table,
                    "| {} | {} | {} | {} | {} | {:.1} | {:.1} | {:.2} | {:.3} | {} | {:.1} |",
                    comparison.work.word(),
                    comparison.tasks,
                    comparison.label(at, side),
                    shown(side.rate, 0),
                    ratio,
                    side.server_us.median,
                    side.client_us.median,
                    side.commands.median,
                    side.reads.median,
                    bytes.unwrap_or_default(),
                    side.peak_kib.median / 1024.0
                );
            }
        }
        table
    }
}

fn shown(spread: Spread, digits: usize) -> String {
    let Spread { median, min, max } = spread;
    format!("{median:.digits$} ({min:.digits$}-{max:.digits$})")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(party: Name, rates: [f64; 3]) -> Side {
        let sample = |rate| Sample {
            rate,
            server_us: 1.0,
            client_us: 1.0,
            commands: 1.0,
            reads: 1.0,
            bytes: 1.0,
            peak_kib: 2048.0,
        };
        Side::new(party, rates.map(sample).to_vec())
    }

    #[test]
    fn a_ratio_is_that_of_runs_side_by_side() {
        // By medians it would be 2 / 4.
        let sides = [side(Name::Ours, [1.0, 2.0, 30.0]), side(Name::Apalis, [4.0, 1.0, 10.0])];
        let comparison = Comparison::new(Work::Drain, Against::Peer, "apalis", 3, sides);
        assert_eq!(comparison.ratio, Spread { median: 2.0, min: 0.25, max: 3.0 });
        assert_eq!(comparison.ratio_line("redis"), "RATIO redis drain ours/peer apalis 2.00");
    }
}
