//! The table of cases and the tests: both come from the one list, so they cannot differ.

use leasehold_core::{Features, clause};

use crate::case::{Case, Kind, Needs, Traits};

/// Makes one test for each case of the suite, named `family::what_must_hold`.
///
/// `$harness` is an expression, evaluated in each test, of a type that implements
/// [`Harness`](crate::Harness). Each family becomes a module where the macro stands, so that
/// two suites need two modules.
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
                    #[::core::prelude::v1::test]
                    fn $name() {
                        let id = ::core::concat!(
                            ::core::stringify!($family), "/", ::core::stringify!($name),
                        );
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
                traits(&[$(stringify!($needs)),+]),
                |context| Box::pin(crate::cases::$family::$name(context)),
            ),
        )*)*];
    };
}

crate::__cases! { table, }

/// Every case of the suite, in the order of the list.
#[must_use]
pub fn cases() -> &'static [Case] {
    CASES
}

/// The list's words: what a case needs, how it looks for faults, and whether it binds yet.
/// The first version is 0.1 unless a word says otherwise, as `SINCE_0_2` would.
const fn traits(words: &[&str]) -> Traits {
    let mut traits =
        Traits { needs: Needs::CORE, kind: Kind::Named, since: "0.1", provisional: false };
    let mut at = 0;
    while at < words.len() {
        let needs = traits.needs;
        match words[at].as_bytes() {
            b"CORE" => {}
            b"META" => traits.kind = Kind::Meta,
            b"ORDERS" => traits.kind = Kind::Order,
            b"MODEL" => traits.kind = Kind::Model,
            b"STRESS" => traits.kind = Kind::Stress,
            b"PROVISIONAL" => traits.provisional = true,
            b"REAL_CLOCK" => traits.needs = needs.real_clock(),
            b"FAULTS" => traits.needs = needs.faults(),
            b"LACKING" => traits.needs = needs.lacking(),
            b"LIMITS" => traits.needs = needs.features(Features::LIMITS),
            b"UNIQUE" => traits.needs = needs.features(Features::UNIQUE),
            b"KINDS" => traits.needs = needs.features(Features::KINDS),
            b"REPLAY" => traits.needs = needs.features(Features::REPLAY),
            b"FOLLOW_UPS" => traits.needs = needs.features(Features::FOLLOW_UPS),
            _ => panic!("an unknown word among a case's needs"),
        };
        at += 1;
    }
    traits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Level;

    #[test]
    fn a_lines_words_are_all_heard() {
        let traits = traits(&["ORDERS", "LIMITS", "KINDS", "REAL_CLOCK", "PROVISIONAL"]);
        assert_eq!(traits.needs.features, Features::LIMITS | Features::KINDS);
        assert_eq!((traits.kind, traits.provisional), (Kind::Order, true));
        assert_eq!(traits.needs.clock, crate::case::CaseClock::Real);
    }

    #[test]
    fn what_a_backend_tells_of_itself_is_meta_and_nothing_else_is() {
        for case in cases() {
            assert_eq!(case.kind == Kind::Meta, case.id.starts_with("meta/"), "{}", case.id);
        }
    }

    #[test]
    fn a_case_that_needs_a_feature_is_extended_by_it() {
        let level = |id: &str| cases().iter().find(|case| case.id == id).expect(id).level();
        assert_eq!(level("race/matching_success"), Level::Core);
        let both = Features::LIMITS | Features::KINDS;
        assert_eq!(level("limit/kinds_never_starve_under_a_key"), Level::Extended(both));
    }
}
