//! What came of it, read back from the store.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use leasehold::{DeadReason, Error, Filter, List, State, StoredTask};

use crate::files::FilePath;
use crate::measure::Measured;
use crate::progress::why;
use crate::session::{Session, again};

/// Most tasks of one page.
const PAGE_MAX: usize = 500;

/// Most rows of the table, and most dead letters that are shown.
const ROWS_MAX: usize = 10;
const DEAD_MAX: usize = 20;

/// Prints the table, the dead letters, and as the very last line the counts.
pub async fn report(session: &Session, url: &str) -> Result<(), Error> {
    let mut sums = Sums::default();
    let mut list = List::new(session.queue.as_str(), Filter::all(), PAGE_MAX);
    loop {
        let page = again(|| session.store.list(list.clone())).await?;
        page.tasks.iter().for_each(|task| sums.add(task));
        match page.next {
            Some(next) => list = list.after(next),
            None => break,
        }
    }
    session.progress.close();
    let _ = io::stdout().write_all(sums.text(url).as_bytes());
    Ok(())
}

#[derive(Default)]
struct Sums {
    files: u64,
    succeeded: u64,
    runs: u64,
    retries: u64,
    rescues: u64,
    rows: BTreeMap<String, Row>,
    dead: u64,
    /// The first of them: name, reason, words.
    letters: Vec<(String, DeadReason, String)>,
}

#[derive(Clone, Copy, Default)]
struct Row {
    files: u64,
    bytes: u64,
    lines: u64,
    compressed: u64,
}

impl Sums {
    fn add(&mut self, task: &StoredTask) {
        self.files += 1;
        self.runs += u64::from(task.attempt);
        self.retries += u64::from(task.failures);
        self.rescues += u64::from(task.rescues);
        match task.state {
            State::Succeeded => {
                self.succeeded += 1;
                let result = task.result.as_ref().map(|result| result.as_bytes());
                let measured = result.and_then(|json| serde_json::from_slice(json).ok());
                if let Some(measured) = measured {
                    self.rows.entry(extension(task)).or_default().add_file(&measured);
                }
            }
            State::Dead(reason) => {
                self.dead += 1;
                if self.letters.len() < DEAD_MAX {
                    let last = task.history.records.last();
                    let words = last.map(|record| record.message.clone()).unwrap_or_default();
                    self.letters.push((FilePath::name_of_task(task), reason, words));
                }
            }
            State::Waiting | State::Leased(_) | State::Cancelled => {}
        }
    }

    fn text(&self, url: &str) -> String {
        let mut text = table(self.rows());
        for (name, reason, words) in &self.letters {
            text += &format!("dead letter: {name}: {}\n", why(*reason, words));
        }
        let shown = self.letters.len() as u64;
        if self.dead > shown {
            text += &format!("dead letters that are not shown: {}\n", self.dead - shown);
        }
        let Self { files, succeeded, dead, runs, retries, rescues, .. } = self;
        text += &format!(
            "quickstart: {files} files, {succeeded} succeeded, {dead} dead, {runs} runs, \
             {retries} retries, {rescues} rescues, store {url}\n"
        );
        text
    }

    /// The largest first, the small ones together, and the sum of all.
    fn rows(&self) -> Vec<(&str, Row)> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.bytes));
        let (mut rest, mut all) = (Row::default(), Row::default());
        rows.iter().for_each(|(_, row)| all.add(row));
        rows.iter().skip(ROWS_MAX).for_each(|(_, row)| rest.add(row));
        let largest = rows.iter().take(ROWS_MAX);
        let mut shown: Vec<_> = largest.map(|(name, row)| (name.as_str(), **row)).collect();
        if rest.files > 0 {
            shown.push(("others", rest));
        }
        shown.push(("all", all));
        shown
    }
}

impl Row {
    fn add_file(&mut self, file: &Measured) {
        let Measured { bytes, lines, compressed, .. } = *file;
        self.add(&Row { files: 1, bytes, lines, compressed });
    }

    fn add(&mut self, other: &Row) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.lines += other.lines;
        self.compressed += other.compressed;
    }

    /// Compressed bytes for each hundred.
    fn ratio(&self) -> String {
        match (self.compressed * 100).checked_div(self.bytes) {
            Some(ratio) => format!("{ratio} %"),
            None => "-".to_owned(),
        }
    }
}

fn extension(task: &StoredTask) -> String {
    let name = FilePath::name_of_task(task);
    let extension = Path::new(&name).extension().map(|extension| extension.to_string_lossy());
    extension.map_or("none".to_owned(), |extension| format!(".{extension}"))
}

fn table(rows: Vec<(&str, Row)>) -> String {
    let head = ["type", "files", "bytes", "lines", "compressed"].map(str::to_owned);
    let cells = rows.iter().map(|(name, row)| {
        let numbers = [row.files, row.bytes, row.lines].map(|number| number.to_string());
        let [files, bytes, lines] = numbers;
        [(*name).to_owned(), files, bytes, lines, row.ratio()]
    });
    let lines: Vec<[String; 5]> = std::iter::once(head).chain(cells).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: [usize; 5] = std::array::from_fn(|column| width(column).unwrap_or(0));
    let mut text = String::new();
    for line in &lines {
        // Names to the left, numbers to the right.
        text += &format!("{:<1$}", line[0], widths[0]);
        for (cell, width) in line.iter().zip(widths).skip(1) {
            text += &format!("  {cell:>width$}");
        }
        text.push('\n');
    }
    text
}
