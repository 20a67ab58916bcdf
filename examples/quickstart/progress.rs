//! What people see while it works: a bar on a terminal, lines elsewhere; always on stderr.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use leasehold::{Counts, DeadReason, Fence};

/// Speaks about a task only after the store has given its verdict.
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    pub fn new() -> Self {
        if !io::stderr().is_terminal() {
            return Self { bar: None };
        }
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        if bar.is_hidden() {
            // A terminal that cannot move its cursor shows no bar, nor any line above one.
            return Self { bar: None };
        }
        let style = ProgressStyle::with_template("{bar:40} {pos}/{len} files, {eta} left");
        Self { bar: Some(style.map_or(bar.clone(), |style| bar.with_style(style))) }
    }

    /// Sets the bar to what the store counts, other processes' work included.
    pub fn show(&self, counts: &Counts) {
        if let Some(bar) = &self.bar {
            bar.set_length(counts.total());
            bar.set_position(counts.total() - counts.unfinished());
        }
    }

    /// A success that counts.
    pub fn ok(&self, name: &str) {
        match &self.bar {
            Some(bar) => bar.inc(1),
            None => self.line(&format!("ok {name}")),
        }
    }

    /// A decision that came too late: it changed nothing, and is no success.
    pub fn stale(&self, name: &str, shown: Fence, now: Fence) {
        self.line(&format!("stale {name}: showed fence {shown}, the task is at {now} by now"));
    }

    /// A decision whose first try got no answer: it may have been applied.
    pub fn unknown(&self, name: &str, now: Fence) {
        self.line(&format!("unknown {name}: a try got no answer, the task is at {now} by now"));
    }

    /// A decision about a task that is no longer there.
    pub fn gone(&self, name: &str) {
        self.line(&format!("gone {name}: somebody removed the task"));
    }

    /// One line, above the bar if there is one.
    pub fn line(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => {
                let _ = writeln!(io::stderr(), "{line}");
            }
        }
    }

    /// Takes the bar away, before the last words.
    pub fn close(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Why a task is dead: the reason, and the words that came with it, if any did.
pub fn why(reason: DeadReason, words: &str) -> String {
    if words.is_empty() { reason.to_string() } else { format!("{reason}, {words}") }
}
