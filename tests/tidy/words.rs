//! Words that the project does not use, and calls that no test may make.

/// On a line with this mark a rule of this module does not hold.
const ALLOW: &str = "tidy: allow";

/// Words of other systems for things that have one name here (docs/glossary.md), each as
/// the words of one identifier.
const FOREIGN: &[&[&str]] = &[
    &["job"],
    &["jobs"],
    &["broker"],
    &["brokers"],
    &["ack"],
    &["acks"],
    &["acked"],
    &["acking"],
    &["nack"],
    &["nacks"],
    &["nacked"],
    &["nacking"],
    &["visibility", "timeout"],
    &["visibility", "timeouts"],
    &["worker", "id"],
    &["worker", "ids"],
];

/// Calls that wait for the wall clock.
const SLEEPS: &[&str] = &["sleep", "sleep_until", "sleep_ms"];

/// Lines with a foreign word, as `line: words`.
pub fn foreign_words(text: &str) -> Vec<String> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.contains(ALLOW));
    lines
        .flat_map(|(at, line)| {
            identifiers(line)
                .filter_map(foreign_word)
                .map(move |word| format!("{}: {word}", at + 1))
        })
        .collect()
}

/// Lines that call a sleep without a reason, as `line: text`.
pub fn sleeps(source: &str) -> Vec<String> {
    let lines = source.lines().enumerate();
    lines
        .filter(|(_, line)| calls_sleep(line) && !is_allowed_with_reason(line))
        .map(|(at, line)| format!("{}: {}", at + 1, line.trim()))
        .collect()
}

fn foreign_word(identifier: &str) -> Option<String> {
    let words = split(identifier);
    let is_in = |foreign: &&&[&str]| words.windows(foreign.len()).any(|run| run == **foreign);
    FOREIGN.iter().find(is_in).map(|foreign| foreign.join("_"))
}

/// The words of an identifier, in lower case: `WorkerId2` is worker, id, 2.
fn split(identifier: &str) -> Vec<String> {
    let chars: Vec<char> = identifier.chars().collect();
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| chars[at]);
        let after = chars.get(at + 1);
        let begins = before.is_some_and(|before| {
            before.is_numeric() != c.is_numeric()
                || c.is_uppercase() && before.is_lowercase()
                // The last capital of a row belongs to the word after it, as in HTTPServer.
                || c.is_uppercase() && before.is_uppercase() && after.is_some_and(|c| c.is_lowercase())
        });
        if begins || c == '_' {
            words.push(std::mem::take(&mut word));
        }
        if c != '_' {
            word.extend(c.to_lowercase());
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|word| !word.is_empty())
}

fn calls_sleep(line: &str) -> bool {
    line.match_indices('(').any(|(at, _)| {
        let name = line[..at].rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next();
        name.is_some_and(|name| SLEEPS.contains(&name))
    })
}

fn is_allowed_with_reason(line: &str) -> bool {
    let reason = line.split_once(ALLOW).map_or("", |(_, reason)| reason);
    reason.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count() >= 3
}

#[cfg(test)]
mod tests {
    use super::{foreign_words, sleeps, split};

    #[test]
    fn an_identifier_falls_into_its_words() {
        assert_eq!(split("worker_id"), ["worker", "id"]);
        assert_eq!(split("BackgroundJob2"), ["background", "job", "2"]);
        assert_eq!(split("HTTPServer"), ["http", "server"]);
        assert_eq!(split("__init"), ["init"]);
    }

    #[test]
    fn foreign_words_are_found_in_code_and_prose() {
        for line in [
            "let job = 1;",
            "struct CronJob;",
            "The Jobs run.",
            "fn send_ack()",
            "a message-broker",
            "let VisibilityTimeout;",
            "my_worker_id: u8",
        ] {
            assert_eq!(foreign_words(line).len(), 1, "{line}");
        }
        assert_eq!(foreign_words("fine\nack\n\nnack"), ["2: ack", "4: nack"]);
    }

    #[test]
    fn words_that_only_look_alike_are_left_alone() {
        let text = "acknowledged background jobless XACK worker ids pack brokerage visibility";
        assert_eq!(foreign_words(text), [""; 0]);
    }

    #[test]
    fn a_marked_line_may_cite_another_product() {
        assert_eq!(foreign_words("their jobs <!-- tidy: allow -->"), [""; 0]);
    }

    #[test]
    fn a_sleep_needs_a_reason() {
        let call = format!("tokio::time::{}(d).await;", "sleep");
        assert_eq!(sleeps(&format!("a();\n{call}")).len(), 1);
        assert_eq!(sleeps(&call.replace("(d)", "_until(d)")).len(), 1);
        assert_eq!(sleeps(&format!("{call} // tidy: allow")).len(), 1);
        assert_eq!(sleeps(&format!("{call} // tidy: allow, the child holds a lock")), [""; 0]);
        assert_eq!(sleeps("a sleep of its own; fn asleep(x) {}"), [""; 0]);
    }
}
