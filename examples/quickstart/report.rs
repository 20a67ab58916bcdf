//! What came of it, read back from the store.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use leasehold::{DeadReason, Error, Filter, List, State, StoredTask};

use crate::files::name;
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
        let page = again(|| session.client.store().list(list.clone())).await?;
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
    /// By the ending of the file's name.
    rows: BTreeMap<String, Row>,
    dead: u64,
    /// The first of them: name, reason, words.
    letters: Vec<(String, DeadReason, String)>,
}

/// Files, bytes, lines, and bytes after deflate.
type Row = [u64; 4];

impl Sums {
    fn add(&mut self, task: &StoredTask) {
        self.files += 1;
        self.runs += u64::from(task.attempt);
        self.retries += u64::from(task.failures);
        self.rescues += u64::from(task.rescues);
        match task.state {
            State::Succeeded => {
                self.succeeded += 1;
                // Another version of this program may have left another result.
                if let Ok(Some(Measured { bytes, lines, compressed, .. })) = task.result_as() {
                    let row = self.rows.entry(extension(task)).or_default();
                    *row = sum([*row, [1, bytes, lines, compressed]]);
                }
            }
            State::Dead(reason) => {
                self.dead += 1;
                if self.letters.len() < DEAD_MAX {
                    let last = task.history.records.last();
                    let words = last.map(|record| record.message.clone()).unwrap_or_default();
                    self.letters.push((name(&task.task_ref, &task.payload), reason, words));
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
        let mut rows: Vec<_> = self.rows.iter().map(|(name, row)| (name.as_str(), *row)).collect();
        rows.sort_by_key(|(_, [_, bytes, ..])| std::cmp::Reverse(*bytes));
        let all = sum(self.rows.values().copied());
        let small = rows.split_off(ROWS_MAX.min(rows.len()));
        if !small.is_empty() {
            rows.push(("others", sum(small.into_iter().map(|(_, row)| row))));
        }
        rows.push(("all", all));
        rows
    }
}

fn sum(rows: impl IntoIterator<Item = Row>) -> Row {
    let add = |sum: Row, row: Row| std::array::from_fn(|column| sum[column] + row[column]);
    rows.into_iter().fold(Row::default(), add)
}

fn extension(task: &StoredTask) -> String {
    let name = name(&task.task_ref, &task.payload);
    let extension = Path::new(&name).extension().map(|extension| extension.to_string_lossy());
    extension.map_or("none".to_owned(), |extension| format!(".{extension}"))
}

fn table(rows: Vec<(&str, Row)>) -> String {
    let head = ["type", "files", "bytes", "lines", "compressed"].map(str::to_owned);
    let cells = rows.into_iter().map(|(name, [files, bytes, lines, compressed])| {
        let ratio = (compressed * 100).checked_div(bytes).map(|ratio| format!("{ratio} %"));
        let [files, bytes, lines] = [files, bytes, lines].map(|number| number.to_string());
        [name.to_owned(), files, bytes, lines, ratio.unwrap_or("-".to_owned())]
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
