//! The one list of cases: the table and the tests both come from it, so they cannot differ.

use leasehold_core::{Features, clause};

use crate::case::{Case, Needs};

/// Calls `$then` with the list: families, in them `name [clauses] needs;`.
#[doc(hidden)]
#[macro_export]
macro_rules! __cases {
    ($then:path, $($args:tt)*) => {
        $then! { ($($args)*)
            refuses {
                undeclared_features [GEN_9] CORE;
            }
            race {
                worker_success_vs_rescue_requeue [LATE_1, LATE_3, COMMIT_1] CORE;
            }
        }
    };
}

/// Makes one test for each case of the suite, named `family::what_must_hold`.
///
/// `$harness` is an expression, evaluated in each test, of a type that implements
/// [`Harness`](crate::Harness).
#[macro_export]
macro_rules! suite {
    ($harness:expr) => {
        $crate::__cases! { $crate::__tests, $harness }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __tests {
    (($harness:expr) $($family:ident { $($name:ident [$($clause:ident),*] $($needs:ident)+;)* })*) => {
        $(
            mod $family {
                #[allow(unused_imports)]
                use super::*;
                $(
                    #[test]
                    fn $name() {
                        let id = concat!(stringify!($family), "/", stringify!($name));
                        $crate::run_test(&$harness, id);
                    }
                )*
            }
        )*
    };
}

macro_rules! table {
    (() $($family:ident { $($name:ident [$($clause:ident),*] $($needs:ident)+;)* })*) => {
        const CASES: &[Case] = &[$($(
            Case::new(
                concat!(stringify!($family), "/", stringify!($name)),
                &[$(clause::$clause),*],
                needs(&[$(stringify!($needs)),+]),
                |context| Box::pin(crate::cases::$family::$name(context)),
            ),
        )*)*];
    };
}

__cases! { table, }

/// Every case of the suite, in the order of the list.
#[must_use]
pub fn cases() -> &'static [Case] {
    CASES
}

/// The list's words for what a case needs.
const fn needs(words: &[&str]) -> Needs {
    let mut needs = Needs::CORE;
    let mut at = 0;
    while at < words.len() {
        needs = match words[at].as_bytes() {
            b"CORE" => needs,
            b"REAL_CLOCK" => needs.real_clock(),
            b"FAULTS" => needs.faults(),
            b"LIMITS" => needs.features(Features::LIMITS),
            b"UNIQUE" => needs.features(Features::UNIQUE),
            b"KINDS" => needs.features(Features::KINDS),
            b"REPLAY" => needs.features(Features::REPLAY),
            b"FOLLOW_UPS" => needs.features(Features::FOLLOW_UPS),
            _ => panic!("an unknown word among a case's needs"),
        };
        at += 1;
    }
    needs
}
