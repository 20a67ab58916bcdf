//! What the process says on stdout: one line a thing.

use std::fmt;
use std::io::Write;

use leasehold::{Notice, Observer, Verdict};

/// Says a line. When nobody reads any more, nobody misses it.
pub fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

/// Says every notice of a worker.
pub struct Notices;

impl Observer for Notices {
    fn notice(&self, notice: &Notice<'_>) {
        match notice {
            Notice::Claimed { lease } => say(format_args!(
                "notice claimed {} fence={} attempt={}",
                lease.task_ref.id, lease.fence, lease.attempt
            )),
            Notice::Lost { lease, loss } => say(format_args!(
                "notice lost {} fence={} {loss:?}",
                lease.task_ref.id, lease.fence
            )),
            Notice::Decided { lease, change, verdict } => say(format_args!(
                "notice decided {} fence={} event={} {}",
                lease.task_ref.id,
                lease.fence,
                change.event,
                Words(verdict)
            )),
            Notice::Rescued { lease, change, verdict } => say(format_args!(
                "notice rescued {} fence={} event={} {}",
                lease.task_ref.id,
                lease.fence,
                change.event,
                Words(verdict)
            )),
            other => say(format_args!("notice other {other:?}")),
        }
    }
}

/// A verdict with all that it tells.
struct Words<'a>(&'a Verdict);

impl fmt::Display for Words<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Verdict::Applied { overdue, late } => {
                write!(f, "applied overdue={overdue} late={late}")
            }
            Verdict::Stale { shown, now } => write!(f, "stale shown={shown} now={now}"),
            other => write!(f, "{other:?}"),
        }
    }
}
