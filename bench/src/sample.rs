//! [`Sample`]: what one step of one run took, for each task; [`Spread`] of many.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::info::Info;

/// What a part's own process tells of its step.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Told {
    /// From the step's begin to its end.
    pub took: Duration,
    /// Processor time of the process, its start included.
    pub cpu_us: f64,
    /// The most memory that the process had, in KiB.
    pub peak_kib: u64,
}

/// One step of one run.
#[derive(Debug, Clone, Serialize)]
pub struct Sample {
    /// Tasks in a second.
    pub rate: f64,
    /// Processor time of the server for each task, in microseconds.
    pub server_us: f64,
    /// Processor time of the party's process for each task, in microseconds.
    pub client_us: f64,
    /// Commands of the server for each task, those of scripts included.
    pub commands: f64,
    /// Socket reads of the server for each task.
    pub reads: f64,
    /// Memory of the server for each task, in bytes; negative when tasks left.
    pub bytes: f64,
    /// The most memory that the party's process had, in KiB.
    pub peak_kib: f64,
}

impl Sample {
    /// What `told` and the server's counters around it say of `count` tasks.
    pub fn of(told: &Told, before: Info, after: Info, count: u64) -> Self {
        let n = count as f64;
        Self {
            rate: n / told.took.as_secs_f64(),
            server_us: (after.cpu_us - before.cpu_us) / n,
            client_us: told.cpu_us / n,
            commands: (after.commands - before.commands) / n,
            reads: (after.reads - before.reads) / n,
            bytes: (after.memory - before.memory) / n,
            peak_kib: told.peak_kib as f64,
        }
    }
}

/// The middle of some figures, with the least and the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// Of one figure or more.
    pub fn of(figures: impl IntoIterator<Item = f64>) -> Self {
        let mut figures: Vec<f64> = figures.into_iter().collect();
        figures.sort_by(f64::total_cmp);
        let n = figures.len();
        assert!(n > 0, "a comparison has at least one pair");
        let median = (figures[(n - 1) / 2] + figures[n / 2]) / 2.0;
        Self { median, min: figures[0], max: figures[n - 1] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_of_what_was_sorted() {
        let spread = Spread::of([9.0, 1.0, 4.0]);
        assert_eq!(spread, Spread { median: 4.0, min: 1.0, max: 9.0 });
        assert_eq!(Spread::of([1.0, 2.0, 10.0, 3.0]).median, 2.5);
    }

    #[test]
    fn figures_are_for_each_task() {
        let told = Told { took: Duration::from_millis(500), cpu_us: 3000.0, peak_kib: 7 };
        let before = Info { cpu_us: 10.0, commands: 5.0, reads: 1.0, memory: 100.0 };
        let after = Info { cpu_us: 2010.0, commands: 205.0, reads: 3.0, memory: 40_100.0 };
        let sample = Sample::of(&told, before, after, 100);
        assert_eq!((sample.rate, sample.server_us, sample.client_us), (200.0, 20.0, 30.0));
        assert_eq!((sample.commands, sample.reads, sample.bytes), (2.0, 0.02, 400.0));
    }
}
