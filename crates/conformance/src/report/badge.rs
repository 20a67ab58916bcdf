//! The report as a table for a README.

use std::fmt::Write as _;

use super::text::durability;
use super::{Group, Report};

impl Report {
    /// As Markdown, for the README of a backend: a table to be pasted as it is, and how to
    /// make it again.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let colour = match (self.green, self.partial.is_empty()) {
            (true, true) => "keeps the contract",
            (true, false) => "no fault found, but the run is partial",
            (false, _) => "does not keep the contract",
        };
        let backend = &self.backend;
        let mut text = format!(
            "**{} {colour}** {} by leasehold-conformance {} with seed {}\n\n",
            cell(&named(&backend.name, &backend.version)),
            self.contract,
            self.suite,
            self.seed,
        );
        for reason in self.partial.iter().chain(&self.problems) {
            _ = writeln!(text, "- {}", cell(reason));
        }
        if !self.partial.is_empty() || !self.problems.is_empty() {
            text.push('\n');
        }
        text.push_str("| level | cases | pass | fail | known | incomplete | vacuous | |\n");
        text.push_str("|---|---|---|---|---|---|---|---|\n");
        let core = self.levels.iter().filter(|level| level.name == "core");
        core.for_each(|core| row(&mut text, "Core", core, ""));
        for feature in &self.features {
            let refused = backend.refused.contains(&feature.name);
            let declared = backend.declared.contains(&feature.name);
            let note = match (declared, refused) {
                (true, _) => "",
                (false, true) => "not declared, and refused",
                (false, false) => "not declared, and not refused",
            };
            row(&mut text, &format!("Extended: {}", feature.name), feature, note);
        }
        text.push_str("\n| | |\n|---|---|\n");
        if let Some(server) = &backend.server_version {
            _ = writeln!(text, "| server | {} |", cell(server));
        }
        if let Some(class) = &backend.durability {
            _ = writeln!(text, "| durability | {} |", durability(class));
        }
        if let Some(setup) = &backend.durability_setup {
            _ = writeln!(text, "| set-up | {} |", cell(setup));
        }
        _ = writeln!(text, "| clocks | {} |", backend.clocks.join(", "));
        _ = writeln!(text, "\nHow to reproduce: `{}`", self.reproduce);
        text
    }
}

fn named(name: &str, version: &Option<String>) -> String {
    match version {
        Some(version) => format!("{name} {version}"),
        None => name.to_owned(),
    }
}

fn row(text: &mut String, name: &str, group: &Group, note: &str) {
    let totals = &group.totals;
    let numbers =
        [totals.cases, totals.pass, totals.fail, totals.known, totals.incomplete, totals.vacuous];
    let numbers = numbers.map(|number| number.to_string()).join(" | ");
    _ = writeln!(text, "| {name} | {numbers} | {note} |");
}

/// A text that breaks no table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
