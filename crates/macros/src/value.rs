//! The values of parameters, each in the form that its parameter takes.

use proc_macro2::TokenStream;
use syn::{LitInt, LitStr, Result};

use crate::parameter::Parameter;

/// The longest name that core lets a store have, in bytes.
const NAME_BYTES_MAX: usize = 200;

/// The longest delay of core: 100 years of 365.25 days.
const TIMEOUT_MS_MAX: u64 = 100 * 31_557_600_000;

/// What follows a lost worker.
#[derive(Clone, Copy)]
pub(crate) enum Delivery {
    AtLeastOnce,
    NotAfterLoss,
    AtMostOnce,
}

const DELIVERIES: [(&str, Delivery); 3] = [
    ("at_least_once", Delivery::AtLeastOnce),
    ("not_after_loss", Delivery::NotAfterLoss),
    ("at_most_once", Delivery::AtMostOnce),
];

pub(crate) fn name(parameter: &Parameter) -> Result<LitStr> {
    let literal: LitStr = parameter.value()?;
    let Parameter { name, .. } = parameter;
    let value = literal.value();
    if value.is_empty() {
        Err(parameter.error(format!("{name} is empty")))
    } else if value.chars().any(char::is_control) {
        Err(parameter.error(format!("{name} has a control character")))
    } else if value.len() > NAME_BYTES_MAX {
        let size = value.len();
        Err(parameter.error(format!("{name} has {size} bytes, and may have {NAME_BYTES_MAX}")))
    } else {
        Ok(literal)
    }
}

pub(crate) fn delivery(parameter: &Parameter) -> Result<Delivery> {
    let given = parameter.value::<TokenStream>()?.to_string();
    if let Some((_, delivery)) = DELIVERIES.iter().find(|(word, _)| *word == given) {
        return Ok(*delivery);
    }
    // A string, or a path such as `Delivery::AtLeastOnce`: what is meant is clear.
    let is_meant = |word: &str| letters(&given).ends_with(&letters(word));
    Err(match DELIVERIES.iter().find(|(word, _)| is_meant(word)) {
        Some((word, _)) => {
            parameter.error(format!("delivery takes a bare word: delivery = {word}"))
        }
        None => parameter.wrong_form(),
    })
}

fn letters(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase()
}

pub(crate) fn priority(parameter: &Parameter) -> Result<u8> {
    let priority = number(parameter)?;
    u8::try_from(priority).ok().filter(|level| *level <= 9).ok_or_else(|| parameter.wrong_form())
}

pub(crate) fn number(parameter: &Parameter) -> Result<u32> {
    let literal: LitInt = parameter.value()?;
    if !literal.suffix().is_empty() {
        return Err(parameter.wrong_form());
    }
    literal.base10_parse().map_err(|_| parameter.wrong_form())
}

pub(crate) fn max_rescues(parameter: &Parameter) -> Result<u32> {
    match number(parameter)? {
        0 => Err(parameter.error(
            "max_rescues is 0, so that nothing runs again after a lost worker: \
             use delivery = not_after_loss",
        )),
        number => Ok(number),
    }
}

/// In milliseconds.
pub(crate) fn timeout(parameter: &Parameter) -> Result<u64> {
    let text = parameter.value::<LitStr>()?.value();
    let (number, unit) = text.split_at(text.bytes().take_while(u8::is_ascii_digit).count());
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(parameter.wrong_form()),
    };
    if number.is_empty() {
        return Err(parameter.wrong_form());
    }
    // Digits that are no number here are a number too large.
    let millis = number.parse().ok().and_then(|number: u64| number.checked_mul(unit_ms));
    match millis.filter(|millis| *millis <= TIMEOUT_MS_MAX) {
        None => Err(parameter.error("timeout is over 100 years")),
        Some(0) => Err(parameter.error("timeout is zero: no handler could finish")),
        Some(millis) => Ok(millis),
    }
}

#[cfg(test)]
mod tests {
    use leasehold_core::Bounds;

    use super::*;

    #[test]
    fn the_bounds_are_those_of_core() {
        assert_eq!(NAME_BYTES_MAX, Bounds::default().name_bytes_max);
        assert_eq!(u128::from(TIMEOUT_MS_MAX), Bounds::DELAY_MAX.as_millis());
    }
}
