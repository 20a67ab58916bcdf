//! A report as a file, whose name's ending picks the form.

use std::path::Path;

use super::Report;

/// The forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Junit,
    Markdown,
    Text,
}

impl Format {
    /// The form that the ending of `path` names.
    pub fn of(path: &Path) -> Result<Self, String> {
        match path.extension().and_then(|ending| ending.to_str()) {
            Some("json") => Ok(Self::Json),
            Some("xml") => Ok(Self::Junit),
            Some("md") => Ok(Self::Markdown),
            Some("txt") => Ok(Self::Text),
            _ => Err(format!("{} does not end in .json, .xml, .md or .txt", path.display())),
        }
    }
}

impl Report {
    /// As JSON, by `schema/report.schema.json`.
    ///
    /// # Errors
    /// When it cannot be written as JSON.
    pub fn to_json(&self) -> Result<String, String> {
        let json = serde_json::to_string_pretty(self);
        json.map(|text| text + "\n").map_err(|error| format!("no JSON can be made: {error}"))
    }

    /// Writes the report to a file in the form that its ending names.
    ///
    /// # Errors
    /// A sentence, when the ending names no form or the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), String> {
        let text = match Format::of(path)? {
            Format::Json => self.to_json()?,
            Format::Junit => self.to_junit()?,
            Format::Markdown => self.to_markdown(),
            Format::Text => self.to_string(),
        };
        let told = |error| format!("the report {} cannot be written: {error}", path.display());
        std::fs::write(path, text).map_err(told)
    }
}
