//! [`Plan`]: a random history before it is played, as data.
//!
//! A command points at claims, sights and decisions by how long ago they came, modulo what
//! there is, so that any part of a plan is a plan: what fails can be made smaller by leaving
//! commands out.

mod maker;
mod shrink;
mod values;

use std::ops::Range;
use std::time::Duration;

use leasehold_core::{Configure, Filter, Intervention, NewTask, Purpose};

pub(crate) use maker::{concurrent, sequential};
pub(crate) use shrink::Shrink;
pub(crate) use values::IDS;

use crate::context::Stop;

/// What is done one after the other, and then what several do at once.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    /// By one caller.
    pub prefix: Vec<Cmd>,
    /// By a caller each, all at the same time.
    pub lanes: Vec<Vec<Cmd>>,
}

/// One command; what it points at is known only when it is played.
#[derive(Debug, Clone)]
pub(crate) enum Cmd {
    Enqueue(Vec<NewTask>),
    Claim(Ask),
    Renew(Vec<Extend>),
    End(Vec<End>),
    /// The decision that was sent so many ago, once more.
    Again(usize),
    Get(&'static str),
    /// A get of the task of this lease.
    GetHeld(Pick),
    /// An operator acts on the sight that came so many ago.
    Act {
        sight: usize,
        act: Intervention,
    },
    Count,
    /// A whole list; `recent` shows only what has just finished.
    List {
        filter: Filter,
        recent: bool,
    },
    /// The queue's name is put in when it is played.
    Configure(Configure),
    Purge,
    Shift(i64),
    /// The call is polled so often and then dropped.
    Dropped {
        polls: usize,
        cmd: Box<Cmd>,
    },
}

/// A claim.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub purpose: Purpose,
    pub max: usize,
    pub ttl: Duration,
    pub kind: Option<&'static str>,
    pub ticket: Option<(usize, Turn)>,
}

/// Which number a claiming loop shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// A new claim.
    Next,
    /// The last claim once more.
    Again,
    /// The one before it.
    Older,
}

/// One of the leases that were granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pick {
    /// The one that came so many ago.
    Ago(usize),
    /// The same of those runs whose task a rescuer has claimed since.
    Lost(usize),
}

/// A renew of a lease.
#[derive(Debug, Clone)]
pub(crate) struct Extend {
    pub lease: Pick,
    pub ttl: Duration,
    pub note: Option<&'static str>,
}

/// A decision about a lease.
#[derive(Debug, Clone)]
pub(crate) struct End {
    pub lease: Pick,
    /// Which of the endings of a run; a rescuer has no choice.
    pub how: usize,
    /// Decides about a rescue as if it were a run, which no store may take.
    pub astray: bool,
    /// Only a run has them.
    pub follow_ups: Vec<NewTask>,
}

/// The seeds of a run: those below `usual`, or as the environment says, `LH_HISTORY` for one of
/// them and `LH_HISTORIES` for the first so many.
///
/// # Errors
/// When a variable is no number.
pub(crate) fn seeds(usual: u64) -> Result<Range<u64>, Stop> {
    let number = |variable: &str| match std::env::var(variable) {
        Err(_) => Ok(None),
        Ok(text) => match text.parse::<u64>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Stop::because(format!("{variable} is a number, not {text}"))),
        },
    };
    Ok(match (number("LH_HISTORY")?, number("LH_HISTORIES")?) {
        (Some(seed), _) => seed..seed.saturating_add(1),
        (None, histories) => 0..histories.unwrap_or(usual),
    })
}
