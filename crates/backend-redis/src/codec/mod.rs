//! The text forms that the scripts in `lua/` keep and answer: `encode` writes arguments,
//! `decode` reads records and replies.

mod decode;
mod encode;

use leasehold_core::{DeadReason, Error, ErrorKind, Fence, Priority, Purpose, Role, State};

pub(crate) use self::decode::{Record, left, stored, whole};
pub(crate) use self::encode::{NewArgs, due, fence, keep, letters, seq, when};
use crate::error::Fault;

/// The format that this build writes, as the letter that stands in records. The next ones are the
/// next digits: Lua compares text by the server's locale, which orders digits as one expects.
pub(crate) const FORMAT_LETTER: char = match leasehold_core::stored::FORMAT {
    1 => '1',
    _ => panic!("the letter of a new format is missing"),
};

/// A stored value or a reply that this build cannot read.
pub(crate) fn unreadable(what: &str) -> Fault {
    Fault::Told(Error::new(ErrorKind::Corrupt, format!("{what} cannot be read")))
}

/// The letter of a state in records.
pub(crate) const fn letter(state: State) -> char {
    match state {
        State::Waiting => 'w',
        State::Leased(Purpose::Run) => 'r',
        State::Leased(Purpose::Rescue) => 'q',
        State::Succeeded => 's',
        State::Cancelled => 'c',
        State::Dead(DeadReason::Exhausted) => 'E',
        State::Dead(DeadReason::Rejected) => 'R',
        State::Dead(DeadReason::Undecodable) => 'U',
        State::Dead(DeadReason::UnknownKind) => 'K',
        State::Dead(DeadReason::Lost) => 'L',
        State::Dead(DeadReason::Corrupt) => 'C',
        State::Dead(DeadReason::Operator) => 'O',
    }
}

/// The state with this letter; `None` for a letter of no state, as of a task that left.
pub(crate) fn state(letter_: char) -> Option<State> {
    State::ALL.into_iter().find(|state| letter(*state) == letter_)
}

/// The letter of a role.
pub(crate) const fn role_letter(role: Role) -> &'static str {
    match role {
        Role::Worker => "w",
        Role::Rescuer => "r",
        Role::Operator => "o",
    }
}

fn role(letter: &str) -> Option<Role> {
    match letter {
        "w" => Some(Role::Worker),
        "r" => Some(Role::Rescuer),
        "o" => Some(Role::Operator),
        _ => None,
    }
}

/// The place of a priority in the order of service, 0 for the highest.
pub(crate) fn rank(priority: Priority) -> u8 {
    Priority::HIGHEST.level() - priority.level()
}

fn priority(rank: u8) -> Option<Priority> {
    Some(Priority::new(Priority::HIGHEST.level().checked_sub(rank)?))
}

pub(crate) fn fence_from(text: &str) -> Option<Fence> {
    text.parse().ok().map(Fence::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_and_role_comes_back_from_its_letter() {
        for one in State::ALL {
            assert_eq!(state(letter(one)), Some(one));
        }
        assert_eq!(state('-'), None);
        for one in [Role::Worker, Role::Rescuer, Role::Operator] {
            assert_eq!(role(role_letter(one)), Some(one));
        }
    }
}
