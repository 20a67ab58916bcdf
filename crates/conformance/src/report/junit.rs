//! The report as JUnit XML, for the services that read it.

use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, TestCase, TestCaseStatus, TestSuite};

use super::{CaseReport, Report};
use crate::verdict::Word;

impl Report {
    /// As JUnit XML, a test case for each case. JUnit knows only success, failure and skipped:
    /// what is red is a failure, a refusal of what is not declared is a success, and what is
    /// neither red nor proved is skipped, with its reason. The property `verdict` has our word.
    ///
    /// # Errors
    /// When the text cannot be written as XML.
    pub fn to_junit(&self) -> Result<String, String> {
        let mut suite = TestSuite::new(format!("leasehold-conformance on {}", self.backend.name));
        for (name, value) in [
            ("suite", self.suite.clone()),
            ("contract", self.contract.clone()),
            ("seed", self.seed.to_string()),
            ("partial", self.partial.join("; ")),
            ("reproduce", self.reproduce.clone()),
        ] {
            suite.add_property(Property::new(name, value));
        }
        suite.add_test_cases(self.cases.iter().map(test_case));
        suite.add_test_cases(self.problems.iter().map(|problem| {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            status.set_message(problem.as_str());
            TestCase::new("the run itself", status)
        }));
        let mut report = quick_junit::Report::new("leasehold-conformance");
        report.add_test_suite(suite);
        report.to_string().map_err(|error| format!("the JUnit report cannot be written: {error}"))
    }
}

fn test_case(case: &CaseReport) -> TestCase {
    let mut status = match (case.red, case.verdict) {
        (true, _) => TestCaseStatus::non_success(NonSuccessKind::Failure),
        (false, Word::Pass | Word::Unsupported | Word::Inapplicable) => TestCaseStatus::success(),
        (false, _) => TestCaseStatus::skipped(),
    };
    status.set_type(case.verdict.word());
    if let Some(first) = case.details.first() {
        status.set_message(first.as_str());
        let trace = case.trace.clone().unwrap_or_default();
        let again = format!("again: {}", case.replay);
        status.set_description(format!("{}\n{trace}{again}", case.details.join("\n")));
    }
    let mut test = TestCase::new(case.id.as_str(), status);
    let family = case.id.split('/').next().unwrap_or_default();
    test.set_classname(format!("leasehold_conformance.{family}"));
    test.set_time(Duration::from_millis(case.duration_ms));
    test.add_property(Property::new("verdict", case.verdict.word()));
    test.add_property(Property::new("clauses", case.clauses.join(" ")));
    test
}
