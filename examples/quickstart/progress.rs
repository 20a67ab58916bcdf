//! What people see while it works: a bar on a terminal, lines elsewhere; always on stderr.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use leasehold::{Budget, Change, Counts, DeadReason, Notice, Observer, To, Verdict};

use crate::files::name;

/// A loop that fails so often in a row is told of: a busy store is nothing to worry about.
const FAILING_TOLD: u32 = 3;

/// Hears what the worker does, and speaks about a task only after the store has given its
/// verdict. Clones share the bar.
#[derive(Clone)]
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Observer for Progress {
    fn notice(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Decided { lease, change, verdict } => {
                self.decided(&name(&lease.task_ref, &lease.payload), change, verdict);
            }
            Notice::Rescued { lease, change, verdict } => {
                let name = name(&lease.task_ref, &lease.payload);
                match (verdict.counts(), change.to) {
                    (true, To::Dead(reason)) => self.dead(&name, reason, change),
                    (true, _) => self.line(&format!("rescued {name}: its lease had lapsed")),
                    // Mostly good news: its run was faster after all, or another rescuer.
                    (false, _) => self.line(&format!("no rescue of {name}: {verdict:?}")),
                }
            }
            Notice::Lost { lease, loss } => {
                let name = name(&lease.task_ref, &lease.payload);
                self.line(&format!("lost {name}: {loss:?}"));
            }
            Notice::Failing { name, error, tries: FAILING_TOLD, .. } => {
                self.line(&format!("failing {name}: {error}"));
            }
            Notice::Recovered { name, tries: FAILING_TOLD.., .. } => {
                self.line(&format!("recovered {name}"));
            }
            _ => {}
        }
    }
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

    fn decided(&self, name: &str, change: &Change, verdict: &Verdict) {
        match verdict {
            Verdict::Applied { late, .. } => {
                if *late {
                    self.line(&format!("late {name}: it lapsed, and its success still counted"));
                }
                match change.to {
                    To::Succeeded => self.ok(name),
                    To::Dead(reason) => self.dead(name, reason, change),
                    _ if change.budget == Budget::SpendRetry => {
                        self.line(&format!("retry {name}: {}", change.message));
                    }
                    _ => self.line(&format!("released {name}")),
                }
            }
            Verdict::Stale { shown, now } => {
                self.line(&format!("stale {name}: showed fence {shown}, the task is at {now}"));
            }
            Verdict::Gone => self.line(&format!("gone {name}: somebody removed the task")),
            Verdict::Refused(error) => self.line(&format!("refused {name}: {error}")),
            // A try got no answer: it may have counted or not, and is no success.
            _ => self.line(&format!("unknown {name}: a try got no answer")),
        }
    }

    fn dead(&self, name: &str, reason: DeadReason, change: &Change) {
        self.line(&format!("dead {name}: {}", why(reason, &change.message)));
    }

    fn ok(&self, name: &str) {
        match &self.bar {
            Some(bar) => bar.inc(1),
            None => self.line(&format!("ok {name}")),
        }
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
