//! Short forms of requests and replies: taken at each call for little, put into words only
//! when a case has failed.

mod asked;
mod replied;

use std::fmt;

use leasehold_core::{Guard, TaskRef};

use crate::context::Context;

pub(crate) use asked::Asked;
pub(crate) use replied::Replied;

/// How many items of a batch are told.
const TOLD: usize = 3;

/// The longest text that is told, in characters.
const LONGEST: usize = 400;

/// The first items of a batch, and how many there were.
#[derive(Debug, Clone)]
pub(crate) struct Few<T> {
    first: Vec<T>,
    count: usize,
}

impl<T> Few<T> {
    fn of<S>(all: &[S], short: impl Fn(&S) -> T) -> Self {
        Self { first: all.iter().take(TOLD).map(short).collect(), count: all.len() }
    }
}

impl<T: fmt::Display> fmt::Display for Few<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count == 0 {
            return f.write_str("none");
        }
        for (at, item) in self.first.iter().enumerate() {
            write!(f, "{}{item}", if at == 0 { "" } else { ", " })?;
        }
        match self.count - self.first.len() {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// The task named as the reader of one case needs it, its usual queue left out.
struct Named<'a>(&'a TaskRef);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.queue == Context::QUEUE {
            true => Short(&self.0.id).fmt(f),
            false => write!(f, "{}/{}", Short(&self.0.queue), Short(&self.0.id)),
        }
    }
}

struct Held<'a>(&'a Guard);

impl fmt::Display for Held<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", Named(&self.0.task), self.0.fence)
    }
}

struct In<'a>(&'a str);

impl fmt::Display for In<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 == Context::QUEUE {
            true => Ok(()),
            false => write!(f, " in {}", Short(self.0)),
        }
    }
}

/// A text of one line and bounded length, whatever a case puts into names.
pub(crate) struct Short<'a>(pub &'a str);

impl fmt::Display for Short<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut chars = self.0.chars();
        for char in chars.by_ref().take(LONGEST) {
            match char.is_control() {
                true => write!(f, "{}", char.escape_default())?,
                false => write!(f, "{char}")?,
            }
        }
        match chars.next() {
            Some(_) => f.write_str("..."),
            None => Ok(()),
        }
    }
}
