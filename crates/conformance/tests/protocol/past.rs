//! [`Past`]: what has happened to one id, put together from the answers alone. The laws look at
//! it, and at nothing that the rules of the model say.

use leasehold_core::{DecisionId, Fence, State, Timestamp};

#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    /// Where the events so far have led.
    pub state: State,
    /// Whether the task is no more, and until when its id is remembered.
    pub left: Option<Timestamp>,
    /// Whether an operator deleted it.
    pub deleted: bool,
    pub born: Fence,
    /// The newest fence: that of the live claim, or of the last decision.
    pub fence: Fence,
    /// The end of the live claim, as it was told last.
    pub until: Timestamp,
    pub due: Timestamp,
    /// The end of a lease that an operator took away.
    pub hold: Option<Timestamp>,
    /// The newest run, while its success would still count.
    pub run: Option<Fence>,
    pub failures: u32,
    pub rescues: u32,
    /// Whether a run began and no decision about it was applied, nor has an operator acted.
    pub unresolved: bool,
    /// Runs that began since the enqueue or the last act of an operator.
    pub starts: u32,
    /// The fence that the last act of an operator gave.
    pub operated: Option<Fence>,
    /// The last applied decision, and what it showed.
    pub shown: Option<(Fence, DecisionId)>,
}

impl Past {
    /// An enqueue, and nothing since.
    pub fn born(fence: Fence, due: Timestamp) -> Self {
        Self {
            state: State::Waiting,
            left: None,
            deleted: false,
            born: fence,
            fence,
            until: Timestamp::MIN,
            due,
            hold: None,
            run: None,
            failures: 0,
            rescues: 0,
            unresolved: false,
            starts: 0,
            operated: None,
            shown: None,
        }
    }

    /// Whether the task is there and has not ended.
    pub fn is_open(&self) -> bool {
        self.left.is_none() && !self.state.is_finished()
    }

    /// Whether somebody holds the task under a lease.
    pub fn is_leased(&self) -> bool {
        self.left.is_none() && matches!(self.state, State::Leased(_))
    }
}
