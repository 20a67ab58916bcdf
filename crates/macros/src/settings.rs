//! What the attributes of a type say together.

use proc_macro2::Span;
use syn::{Attribute, DeriveInput, Error, LitStr, Path, Result, parse_quote};

use crate::parameter::{Parameter, Parameters};
use crate::value::{self, Delivery};

/// The value of each parameter; `None` leaves the default of the trait.
pub(crate) struct Settings {
    pub(crate) crate_path: Path,
    pub(crate) kind: LitStr,
    pub(crate) delivery: Delivery,
    pub(crate) queue: Option<LitStr>,
    pub(crate) priority: Option<u8>,
    pub(crate) max_retries: Option<u32>,
    pub(crate) max_rescues: Option<u32>,
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) accept_loss: Option<bool>,
}

impl Settings {
    pub(crate) fn read(input: &DeriveInput) -> Result<Self> {
        let mut given = Parameters::read(attributes(input));
        if let (true, Some(missing)) = (given.is_whole, missing(&given)) {
            given.errors.add(match attributes(input).next() {
                Some(attribute) => Error::new_spanned(attribute, missing),
                None => Error::new(input.ident.span(), missing),
            });
        }
        let delivery = given.take("delivery", value::delivery);
        if let Some(delivery) = delivery {
            refuse_what_has_no_place(&mut given, delivery);
        }
        let kind = given.take("kind", value::name);
        let crate_path = crate_path(&mut given);
        let queue = given.take("queue", value::name);
        let priority = given.take("priority", value::priority);
        let max_retries = given.take("max_retries", value::number);
        let max_rescues = given.take("max_rescues", value::max_rescues);
        let timeout_ms = given.take("timeout", value::timeout);
        let accept_loss = given.take("accept_loss", Parameter::flag);
        given.errors.finish(kind.zip(delivery).map(|(kind, delivery)| Self {
            crate_path: crate_path.unwrap_or_else(facade),
            kind,
            delivery,
            queue,
            priority,
            max_retries,
            max_rescues,
            timeout_ms,
            accept_loss,
        }))
    }

    /// Some settings where the attributes are wrong; none where they name the crate wrongly.
    pub(crate) fn stand_in(input: &DeriveInput) -> Option<Self> {
        let mut given = Parameters::read(attributes(input));
        let crate_path = if given.has("crate") { crate_path(&mut given)? } else { facade() };
        Some(Self {
            crate_path,
            kind: LitStr::new("", Span::call_site()),
            delivery: Delivery::AtMostOnce,
            queue: None,
            priority: None,
            max_retries: None,
            max_rescues: None,
            timeout_ms: None,
            accept_loss: None,
        })
    }
}

fn attributes(input: &DeriveInput) -> impl Iterator<Item = &Attribute> {
    input.attrs.iter().filter(|attribute| attribute.path().is_ident("task"))
}

fn crate_path(given: &mut Parameters) -> Option<Path> {
    given.take("crate", |one| one.value_by(Path::parse_mod_style))
}

fn facade() -> Path {
    parse_quote!(::leasehold)
}

fn missing(given: &Parameters) -> Option<&'static str> {
    match (given.has("kind"), given.has("delivery")) {
        (true, true) => None,
        (true, false) => Some(
            "say what follows a lost worker: #[task(delivery = at_least_once)], \
             not_after_loss or at_most_once",
        ),
        (false, true) => Some(r#"say which name picks the handler: #[task(kind = "...")]"#),
        (false, false) => Some(
            "say which name picks the handler, and what follows a lost worker: \
             #[task(kind = \"...\", delivery = at_least_once)], not_after_loss or at_most_once",
        ),
    }
}

fn refuse_what_has_no_place(given: &mut Parameters, delivery: Delivery) {
    if matches!(delivery, Delivery::AtLeastOnce) {
        given.refuse(
            "accept_loss",
            "accept_loss says nothing for a task that may run again: \
             it has no place beside at_least_once",
        );
    } else {
        given.refuse(
            "max_rescues",
            "max_rescues has a place beside at_least_once only: \
             no other task runs again after a lost worker",
        );
    }
    if matches!(delivery, Delivery::AtMostOnce) {
        given.refuse(
            "max_retries",
            "max_retries has no place beside at_most_once: such a task is never retried",
        );
    }
}

#[cfg(test)]
mod tests {
    use syn::parse_str;

    use super::*;

    const REQUIRED: &str = r#"kind = "mail", delivery = at_least_once"#;

    fn errors(attributes: &str) -> Vec<String> {
        let input: DeriveInput =
            parse_str(&format!("{attributes} struct Mail;")).expect(attributes);
        let Err(error) = Settings::read(&input) else { return Vec::new() };
        error.into_iter().map(|error| error.to_string()).collect()
    }

    fn assert_each_is_refused(wrong: &[(&str, &str)]) {
        for (attributes, error) in wrong {
            assert_eq!(errors(attributes), [*error], "{attributes}");
        }
    }

    /// Each of `wrong` beside the required parameters.
    fn assert_each_value_is_refused(wrong: &[(&str, &str)]) {
        for (parameter, error) in wrong {
            assert_eq!(
                errors(&format!("#[task({REQUIRED}, {parameter})]")),
                [*error],
                "{parameter}"
            );
        }
    }

    #[test]
    fn what_is_missing_is_told_with_the_fix() {
        let both = "say which name picks the handler, and what follows a lost worker: \
                    #[task(kind = \"...\", delivery = at_least_once)], not_after_loss or \
                    at_most_once";
        assert_each_is_refused(&[
            ("", both),
            ("#[task]", both),
            ("#[task()] #[serde(default)]", both),
            (
                r#"#[task(kind = "mail")] #[task(priority = 1)]"#,
                "say what follows a lost worker: #[task(delivery = at_least_once)], \
                 not_after_loss or at_most_once",
            ),
            (
                "#[task(delivery = at_least_once)]",
                r#"say which name picks the handler: #[task(kind = "...")]"#,
            ),
        ]);
    }

    #[test]
    fn what_is_no_list_of_parameters_is_refused() {
        let names = "kind, delivery, queue, priority, max_retries, max_rescues, timeout, \
                     accept_loss, crate";
        assert_each_is_refused(&[
            (r#"#[task = "mail"]"#, "parameters stand in parentheses: #[task(...)]"),
            (r#"#[task("mail")]"#, &format!("a name is missing: {names}")),
            (r#"#[task(kind = "mail",,)]"#, &format!("a name is missing: {names}")),
        ]);
        assert_each_value_is_refused(&[
            ("retries = 3", &format!("unknown parameter retries: known are {names}")),
            (r#"kind = "post""#, "kind is given twice"),
            ("delivery = at_most_once", "delivery is given twice"),
        ]);
    }

    #[test]
    fn a_delivery_is_one_of_three_words() {
        let words = "delivery takes one of three words: at_least_once (run again after a lost \
                     worker), not_after_loss (retry failures, never run again after a lost \
                     worker) or at_most_once (one run, never a second)";
        for (value, error) in [
            ("= exactly_once", words),
            (r#"= "exactly-once""#, words),
            ("= 1", words),
            ("= at_least_once or so", words),
            ("=", words),
            ("", words),
            ("(at_least_once)", words),
            (r#"= "at-least-once""#, "delivery takes a bare word: delivery = at_least_once"),
            (r#"= "at_most_once""#, "delivery takes a bare word: delivery = at_most_once"),
            ("= NotAfterLoss", "delivery takes a bare word: delivery = not_after_loss"),
            ("= Delivery::AtMostOnce", "delivery takes a bare word: delivery = at_most_once"),
        ] {
            let attribute = format!(r#"#[task(kind = "mail", delivery {value})]"#);
            assert_eq!(errors(&attribute), [error], "{attribute}");
        }
    }

    #[test]
    fn a_name_is_checked_as_a_store_would() {
        let form = r#"kind takes a string: kind = "mail.welcome""#;
        let longest = "é".repeat(100);
        let too_long = format!("\"{longest}!\"");
        for (value, error) in [
            ("mail", form),
            ("", form),
            ("b\"mail\"", form),
            (r#""mail" + "welcome""#, form),
            (r#""""#, "kind is empty"),
            (r#""mail\n""#, "kind has a control character"),
            (r#""mail\u{85}""#, "kind has a control character"),
            (&too_long, "kind has 201 bytes, and may have 200"),
        ] {
            let attribute = format!("#[task(kind = {value}, delivery = at_least_once)]");
            assert_eq!(errors(&attribute), [error], "{attribute}");
        }
        let longest = format!(r#"#[task(kind = "{longest}", delivery = at_least_once)]"#);
        assert_eq!(errors(&longest), [""; 0]);
        assert_each_value_is_refused(&[
            ("queue", r#"queue takes a string: queue = "mail""#),
            ("queue = 7", r#"queue takes a string: queue = "mail""#),
            (r#"queue = """#, "queue is empty"),
            (r#"queue = "\0""#, "queue has a control character"),
        ]);
    }

    #[test]
    fn a_number_keeps_its_range() {
        let priority = "priority takes a whole number from 0 to 9: priority = 6";
        let max_retries = "max_retries takes a whole number up to 4294967295: max_retries = 8";
        let max_rescues = "max_rescues takes a whole number from 1 to 4294967295: max_rescues = 5";
        assert_each_value_is_refused(&[
            ("priority = 10", priority),
            ("priority = 256", priority),
            ("priority = -1", priority),
            ("priority = 6u8", priority),
            ("priority = high", priority),
            ("max_retries = 4294967296", max_retries),
            ("max_retries = 1.5", max_retries),
            ("max_retries = \"8\"", max_retries),
            ("max_rescues = -1", max_rescues),
            ("max_rescues", max_rescues),
            (
                "max_rescues = 0",
                "max_rescues is 0, so that nothing runs again after a lost worker: \
                 use delivery = not_after_loss",
            ),
        ]);
    }

    #[test]
    fn a_timeout_is_a_number_with_a_unit() {
        let form = r#"timeout takes a whole number with a unit, ms, s, m or h: timeout = "30s""#;
        assert_each_value_is_refused(&[
            ("timeout = 30", form),
            ("timeout = 30s", form),
            (r#"timeout = """#, form),
            (r#"timeout = "30""#, form),
            (r#"timeout = "s""#, form),
            (r#"timeout = "30 s""#, form),
            (r#"timeout = "+30s""#, form),
            (r#"timeout = "-30s""#, form),
            (r#"timeout = "1.5h""#, form),
            (r#"timeout = "1h30m""#, form),
            (r#"timeout = "1d""#, form),
            (r#"timeout = "30S""#, form),
            (r#"timeout = "0ms""#, "timeout is zero: no handler could finish"),
            (r#"timeout = "876601h""#, "timeout is over 100 years"),
            (r#"timeout = "18446744073709551615h""#, "timeout is over 100 years"),
            (r#"timeout = "18446744073709551616ms""#, "timeout is over 100 years"),
        ]);
        for (text, ms) in
            [("1ms", 1), ("030s", 30_000), ("5m", 300_000), ("876600h", 3_155_760_000_000)]
        {
            let attribute = format!("#[task({REQUIRED}, timeout = {text:?})] struct Mail;");
            let input: DeriveInput = parse_str(&attribute).expect("it is a struct");
            let settings = Settings::read(&input).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(settings.timeout_ms, Some(ms));
        }
    }

    #[test]
    fn a_flag_has_no_value_and_a_crate_is_a_path() {
        assert_each_is_refused(&[
            (
                r#"#[task(kind = "mail", delivery = at_most_once, accept_loss = true)]"#,
                "accept_loss takes no value",
            ),
            (
                r#"#[task(kind = "mail", delivery = not_after_loss, accept_loss(yes))]"#,
                "accept_loss takes no value",
            ),
        ]);
        let path = "crate takes a path without quotes: crate = leasehold_core";
        assert_each_value_is_refused(&[
            (r#"crate = "leasehold_core""#, path),
            ("crate = leasehold_core::<u8>", path),
            ("crate", path),
        ]);
    }

    #[test]
    fn what_has_no_place_beside_a_delivery_is_refused_whatever_its_value() {
        let max_rescues = "max_rescues has a place beside at_least_once only: no other task runs \
                           again after a lost worker";
        let max_retries =
            "max_retries has no place beside at_most_once: such a task is never retried";
        let accept_loss = "accept_loss says nothing for a task that may run again: it has no \
                           place beside at_least_once";
        for (delivery, parameter, error) in [
            ("not_after_loss", "max_rescues = 0", max_rescues),
            ("at_most_once", "max_rescues = 5", max_rescues),
            ("at_most_once", "max_retries = 0", max_retries),
            ("at_least_once", "accept_loss", accept_loss),
            ("at_least_once", "accept_loss = false", accept_loss),
        ] {
            let attribute = format!(r#"#[task({parameter}, kind = "a", delivery = {delivery})]"#);
            assert_eq!(errors(&attribute), [error], "{attribute}");
        }
    }

    #[test]
    fn all_errors_are_told_at_once() {
        let attributes = r#"#[task(kind = "", retries = 3, priority = 10)] #[task(kind = "a")]"#;
        let [unknown, twice, missing, kind, priority] = &errors(attributes)[..] else {
            panic!("{:?}", errors(attributes))
        };
        assert!(unknown.starts_with("unknown parameter retries"), "{unknown}");
        assert_eq!(twice, "kind is given twice");
        assert!(missing.starts_with("say what follows a lost worker"), "{missing}");
        assert_eq!(kind, "kind is empty");
        assert!(priority.starts_with("priority takes"), "{priority}");
    }
}
