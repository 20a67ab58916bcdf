//! [`Known`]: what a harness's author says about cases that do not pass, each with a reason.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::case::Case;

/// The lists of [`Harness::known`](crate::Harness::known), read and checked.
#[derive(Debug, Default)]
pub(crate) struct Known {
    failing: BTreeMap<String, String>,
    waived: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lists {
    #[serde(default)]
    known: Vec<Entry>,
    #[serde(default)]
    waived: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    case: String,
    reason: String,
}

impl Known {
    /// Reads the text of a `known-failures.toml` for these cases. The error is a sentence for
    /// its author.
    pub fn parse(text: &str, cases: &[Case]) -> Result<Self, String> {
        let told = |why: String| format!("the list of known failures cannot be used: {why}");
        let lists: Lists = toml::from_str(text).map_err(|error| told(error.to_string()))?;
        let failing = checked(lists.known, cases).map_err(told)?;
        let waived = checked(lists.waived, cases).map_err(told)?;
        match failing.keys().find(|case| waived.contains_key(*case)) {
            Some(case) => Err(told(format!("{case} is both known and waived"))),
            None => Ok(Self { failing, waived }),
        }
    }

    /// Why the case is known to fail, if it is.
    pub fn failing(&self, case: &Case) -> Option<&String> {
        self.failing.get(case.id)
    }

    /// Why the case may be incomplete, if it may.
    pub fn waived(&self, case: &Case) -> Option<&String> {
        self.waived.get(case.id)
    }
}

fn checked(entries: Vec<Entry>, cases: &[Case]) -> Result<BTreeMap<String, String>, String> {
    let mut read = BTreeMap::new();
    for Entry { case, reason } in entries {
        if !cases.iter().any(|known| known.id == case) {
            return Err(format!("{case} is no case of this suite"));
        }
        if reason.trim().is_empty() {
            return Err(format!("{case} has no reason"));
        }
        if read.insert(case.clone(), reason).is_some() {
            return Err(format!("{case} stands twice"));
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::Known;
    use crate::table::cases;

    fn parse(text: &str) -> Result<Known, String> {
        Known::parse(text, cases())
    }

    fn fault(text: &str) -> String {
        parse(text).expect_err(text)
    }

    #[test]
    fn both_lists_are_read() {
        let text = "
            [[known]]
            case = 'enq/all_or_nothing'
            reason = 'not yet'
            [[waived]]
            case = 'fence/high_fences_are_exact'
            reason = 'no hook'
        ";
        let known = parse(text).expect("a sound list");
        let case = |id: &str| cases().iter().find(|case| case.id == id).expect(id);
        let [bad, open] = ["enq/all_or_nothing", "fence/high_fences_are_exact"].map(case);
        assert_eq!(known.failing(bad).map(String::as_str), Some("not yet"));
        assert_eq!(known.waived(open).map(String::as_str), Some("no hook"));
        assert_eq!((known.failing(open), known.waived(bad)), (None, None));
        assert!(parse("").is_ok());
    }

    #[test]
    fn an_entry_names_a_case_and_a_reason() {
        let entry =
            |case: &str, reason: &str| format!("[[known]]\ncase = '{case}'\nreason = '{reason}'\n");
        let one = entry("enq/all_or_nothing", "x");
        assert!(fault(&entry("enq/none_such", "x")).contains("enq/none_such is no case"));
        assert!(fault(&entry("enq/all_or_nothing", " ")).contains("has no reason"));
        assert!(fault("[[known]]\ncase = 'enq/all_or_nothing'").contains("reason"));
        assert!(fault(&format!("{one}{one}")).contains("stands twice"));
        assert!(fault(&format!("{one}{}", one.replace("known", "waived"))).contains("both"));
        assert!(fault("[[unknown]]\ncase = 'a'\nreason = 'b'").contains("unknown"));
        assert!(fault("[[known]").contains("cannot be used"));
    }
}
