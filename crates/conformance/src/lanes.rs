//! A history as lanes: a column for each handle, the store's time at the left, one call under
//! the other in the order in which they were made.

use std::fmt::Write as _;

use crate::history::{Entry, Kept};

/// The widest table, in characters, unless there are more lanes than it has room for.
const WIDTH: usize = 150;
const NARROWEST: usize = 18;
const WIDEST: usize = 44;

/// The lanes as text, each line ended.
pub(crate) fn lanes(kept: &Kept) -> String {
    let used: Vec<usize> = (0..kept.lanes.len()).filter(|lane| is_used(kept, *lane)).collect();
    let width = (WIDTH / used.len().max(1)).clamp(NARROWEST, WIDEST);
    let mut text = String::new();
    if kept.dropped > 0 {
        _ = writeln!(text, "({} earlier entries are not kept)", kept.dropped);
    }
    let names: Vec<Vec<String>> =
        used.iter().map(|lane| wrapped(&kept.lanes[*lane], width)).collect();
    row(&mut text, "ms", &names, width);
    for entry in &kept.entries {
        match entry {
            Entry::Call { lane, at_ms, asked, replied } => {
                let mut lines = wrapped(&asked.to_string(), width);
                let reply = replied.as_ref().map(ToString::to_string);
                let reply = reply.unwrap_or_else(|| "no reply: dropped or not done".to_owned());
                lines.extend(wrapped(&format!("= {reply}"), width));
                let cell = |own: &usize| if own == lane { lines.clone() } else { Vec::new() };
                let cells: Vec<_> = used.iter().map(cell).collect();
                row(&mut text, &at_ms.to_string(), &cells, width);
            }
            Entry::Clock { by_ms } => across(&mut text, &format!("clock {by_ms:+} ms")),
            Entry::Note(what) => across(&mut text, what),
            Entry::Fault(number) => across(&mut text, &format!("fault {number} was found here")),
        }
    }
    if kept.late > 0 {
        _ = writeln!(text, "({} later entries are not kept)", kept.late);
    }
    text
}

fn is_used(kept: &Kept, own: usize) -> bool {
    kept.entries.iter().any(|entry| matches!(entry, Entry::Call { lane, .. } if *lane == own))
}

/// One row, as many lines high as its highest cell.
fn row(text: &mut String, time: &str, cells: &[Vec<String>], width: usize) {
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    for line in 0..height {
        let mut out = format!("{:>9}", if line == 0 { time } else { "" });
        for cell in cells {
            let part = cell.get(line).map_or("", String::as_str);
            _ = write!(out, " | {part:<width$}");
        }
        text.push_str(out.trim_end());
        text.push('\n');
    }
}

fn across(text: &mut String, what: &str) {
    _ = writeln!(text, "{:>9} * {what}", "");
}

/// Breaks a text into lines of at most that many characters, between words where there are.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut length = 0;
    for word in text.split(' ') {
        let mut word: Vec<char> = word.chars().collect();
        if length > 0 && length + 1 + word.len() > width {
            lines.push(String::new());
            length = 0;
        }
        while word.len() > width {
            let rest = word.split_off(width);
            push(&mut lines, word.iter().collect());
            lines.push(String::new());
            word = rest;
        }
        if length > 0 {
            push(&mut lines, ' '.to_string());
            length += 1;
        }
        length += word.len();
        push(&mut lines, word.iter().collect());
    }
    lines
}

fn push(lines: &mut [String], part: String) {
    if let Some(last) = lines.last_mut() {
        last.push_str(&part);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use leasehold_core::decide::Outcome;
    use leasehold_core::{Backend, BackendExt, MemoryBackend, Purpose};

    use super::*;
    use crate::actor::Actor;
    use crate::history::History;

    #[tokio::test]
    async fn each_handle_has_a_column_and_each_call_its_row() {
        let history = History::default();
        let clock = leasehold_core::ManualClock::default();
        let memory: Arc<dyn Backend> = Arc::new(MemoryBackend::on_clock(clock.clone()));
        let actor = |name: &str| Actor::new(history.record(name, memory.clone()), name);
        let (worker, rescuer) = (actor("worker"), actor("rescuer"));
        actor("idle");
        worker.enqueue(Actor::task("t")).await.expect("it is new");
        let lease = worker.run_one().await.expect("it is ready");
        clock.shift(Actor::TTL_MS);
        history.shifted(Actor::TTL_MS);
        rescuer.rescue_one().await.expect("it has lapsed");
        history.fault(1);
        history.note("the late snooze".to_owned());
        let snoozed = Outcome::Snoozed(std::time::Duration::from_secs(7));
        _ = worker.end(&lease, snoozed).await.expect("a call");
        let never_polled = rescuer.backend().claim(rescuer.request(Purpose::Run, 1));
        drop(never_polled);
        assert!(rescuer.backend().task(&lease.task_ref).await.is_ok());
        let expected = "
       ms | worker                                       | rescuer
        0 | enqueue t                                    |
          | = new @1                                     |
        0 | claim run x1 for 30s                         |
          | = t@2, more                                  |
          * clock +30000 ms
    30000 |                                              | claim rescue x1 for 30s
          |                                              | = t@3, more
          * fault 1 was found here
          * the late snooze
    30000 | commit t@2 worker snoozed ->                 |
          | Waiting(After(7s))                           |
          | = stale: @3 leased_rescue                    |
    30000 |                                              | get t
          |                                              | = t@3 leased_rescue, attempt 1, failures 0,
          |                                              | rescues 0
";
        let got: String =
            lanes(&history.kept()).lines().map(|line| line.trim_end().to_owned() + "\n").collect();
        let trimmed: String =
            expected[1..].lines().map(|line| line.trim_end().to_owned() + "\n").collect();
        assert_eq!(got, trimmed);
    }

    #[test]
    fn long_words_and_long_texts_are_broken() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij kl", 4), ["abcd", "efgh", "ij", "kl"]);
        assert_eq!(wrapped("", 4), [""]);
    }
}
