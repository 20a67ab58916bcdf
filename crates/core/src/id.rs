//! Fresh identities: the only code in core that draws random numbers.

use std::fmt;

use uuid::Uuid;

/// A new task id, a UUIDv7 in its usual text form: it sorts by the time of its making.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the home of fresh ids")]
pub fn task_id() -> String {
    Uuid::now_v7().to_string()
}

/// A seed for [`Jitter`](crate::policy::Jitter): 64 random bits.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the home of randomness")]
pub fn jitter_seed() -> u64 {
    Uuid::new_v4().as_u64_pair().1
}

macro_rules! random_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u128);

        impl $name {
            /// A new random id; two of them never meet in practice (122 random bits).
            #[must_use]
            #[expect(clippy::disallowed_methods, reason = "the home of fresh ids")]
            pub fn fresh() -> Self {
                Self(Uuid::new_v4().as_u128())
            }

            /// The id with exactly these bits, as a store gives it back.
            #[must_use]
            pub const fn from_bits(bits: u128) -> Self {
                Self(bits)
            }

            /// The 128 bits of the id.
            #[must_use]
            pub const fn bits(self) -> u128 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:032x}", self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({:032x})"), self.0)
            }
        }
    };
}

random_id! {
    /// The random id of one decision: a repeat of the same commit shows the same id (LH-COMMIT-4).
    DecisionId
}
random_id! {
    /// The random id of one claiming loop (LH-CLAIM-9).
    ClaimerId
}
