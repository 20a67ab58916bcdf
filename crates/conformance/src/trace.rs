//! What is told of a case that did not end well: its calls as lanes, the store's records, and
//! how to run it again.

use std::any::Any;
use std::fmt::Write as _;

use crate::case::Case;
use crate::context::Ended;
use crate::lanes::lanes;
use crate::run::{Outcome, Plan};
use crate::short::Short;
use crate::verdict::Verdict;

/// How many tasks are dumped.
const TASKS: usize = 3;

/// The store's records of the tasks that the case touched last, where the world can show them.
pub(crate) async fn records(ended: &Ended) -> String {
    let mut text = String::new();
    for task in ended.history.tasks(TASKS) {
        if let Some(record) = ended.world.dump(&task).await {
            let name = format!("{}/{}", task.queue, task.id);
            _ = writeln!(text, "the store's record of {}, when the case had ended:", Short(&name));
            for line in record.lines() {
                _ = writeln!(text, "    {line}");
            }
        }
    }
    text
}

/// The lanes, then the records.
pub(crate) fn text(ended: &Ended, records: String) -> String {
    let lanes = lanes(&ended.history.kept());
    format!(
        "the calls in their order, on the store's clock as far as the case moved it:\n{lanes}{records}"
    )
}

/// Everything about a case that is not simply passed; what a failing test prints.
pub(crate) fn explained(outcome: &Outcome, plan: &Plan, replay: &str) -> String {
    let (id, name) = (outcome.case.id, plan.profile.name);
    let word = match &outcome.verdict {
        Verdict::Stopped { .. } => "stopped",
        Verdict::Unexpected { .. } => "passes unexpectedly",
        other => other.word().word(),
    };
    let provisional = match outcome.case.provisional {
        true => ", provisional: binding in the next minor version",
        false => "",
    };
    let mut text = format!("{id} on {name}: {word}{provisional}\n");
    for detail in outcome.verdict.details() {
        text.push_str(&detail);
        text.push('\n');
    }
    if let Some(trace) = &outcome.trace {
        text.push_str(trace);
    }
    _ = writeln!(text, "again: {replay}");
    text
}

/// The command that runs the case alone, as one line for a shell.
pub(crate) fn replay(plan: &Plan, case: &Case) -> String {
    format!("{}{} -- --exact {}", plan.settings.variables(), command(plan), case.id)
}

/// The command that runs the suite.
pub(crate) fn command(plan: &Plan) -> String {
    plan.profile.command.clone().unwrap_or_else(|| match (package(), test_binary()) {
        (Some(package), Some(test)) => format!("cargo test -p {package} --test {test}"),
        _ => "cargo test".to_owned(),
    })
}

/// Cargo sets it for the tests that it runs.
fn package() -> Option<String> {
    std::env::var("CARGO_PKG_NAME").ok()
}

/// The name of a test binary without the hash that cargo appends.
fn test_binary() -> Option<String> {
    let path = std::env::current_exe().ok()?;
    let (name, _hash) = path.file_stem()?.to_str()?.rsplit_once('-')?;
    Some(name.to_owned())
}

/// What somebody said when they panicked.
pub(crate) fn panicked(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "without a text".to_owned())
}
