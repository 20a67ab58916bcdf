//! What the items of one call owe each other.

use leasehold_conformance::model::Reply;
use leasehold_core::clause;
use leasehold_core::{Error, RenewVerdict};

use crate::charge::Charge;
use crate::sin::{Answer, Sin};

pub const ALL: &[Charge] = &[
    Charge {
        name: "a task twice in a call",
        what: "a call of commit or renew may name a task twice",
        met: "no look across the items",
        sin: || std::sync::Arc::new(Twice),
        killed_by: &[
            ("model/sequential_histories", clause::COMMIT_11),
            ("commit/twice_in_a_call_is_invalid", clause::COMMIT_11),
            ("verbs/one_task_twice_is_invalid", clause::COMMIT_11),
        ],
        ..Charge::NONE
    },
    Charge {
        name: "one bad item spoils the batch",
        what: "an item that is in error fails the whole call",
        met: "one transaction a batch",
        sin: || std::sync::Arc::new(Spoilt),
        killed_by: &[
            ("verbs/an_invalid_item_hurts_no_other", clause::GEN_2),
            ("commit/one_bad_item_does_not_hurt", clause::GEN_2),
        ],
        also: "renew follow",
        ..Charge::NONE
    },
    Charge {
        name: "answers in another order",
        what: "a batch is answered in the order of the rows",
        met: "UPDATE ... RETURNING read as it comes",
        sin: || std::sync::Arc::new(Reversed),
        killed_by: &[("verbs/batches_answer_in_order", clause::GEN_2)],
        also: "verbs commit renew uniq follow",
        ..Charge::NONE
    },
    Charge {
        name: "one lost item ends the batch",
        what: "a renew with a lost item in it fails",
        sin: || std::sync::Arc::new(OneLost),
        killed_by: &[
            ("model/sequential_histories", clause::RENEW_2),
            ("renew/one_lost_item_does_not_hurt", clause::RENEW_5),
        ],
        also: "verbs",
        ..Charge::NONE
    },
];

struct Twice;

impl Sin for Twice {
    fn admit(&self, verb: &str, admitted: Result<(), Error>) -> Result<(), Error> {
        admitted
            .or_else(|error| if matches!(verb, "commit" | "renew") { Ok(()) } else { Err(error) })
    }
}

struct Spoilt;

impl Sin for Spoilt {
    fn batch(&self, answers: Vec<Answer>) -> Result<Vec<Answer>, Error> {
        let refused = |answer: &Answer| matches!(answer, Err(_) | Ok(Reply::Refused(_)));
        if answers.len() > 1 && answers.iter().any(refused) {
            return Err(Error::invalid("an item of the batch"));
        }
        Ok(answers)
    }
}

struct Reversed;

impl Sin for Reversed {
    fn batch(&self, mut answers: Vec<Answer>) -> Result<Vec<Answer>, Error> {
        answers.reverse();
        Ok(answers)
    }
}

struct OneLost;

impl Sin for OneLost {
    fn batch(&self, answers: Vec<Answer>) -> Result<Vec<Answer>, Error> {
        let lost = |answer: &Answer| matches!(answer, Ok(Reply::Renewed(RenewVerdict::Lost(_))));
        if answers.len() > 1 && answers.iter().any(lost) {
            return Ok(answers.iter().map(|_| Err(Error::invalid("a lost item"))).collect());
        }
        Ok(answers)
    }
}
