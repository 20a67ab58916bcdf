//! What a test's own thread says by `tracing`.
//!
//! A callsite remembers whether anybody listened when it was first met, by whatever thread. So
//! one listener hears all threads, and each test of such a file starts it before anything else.

use std::cell::RefCell;
use std::fmt::{Debug, Write};
use std::sync::Once;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Subscriber, set_global_default};
use tracing::{Event, Metadata};

thread_local! {
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// What is said from its start on, as `LEVEL text name=value ...`, and `TWICE name` for a name
/// that comes twice in a line, as a reader of JSON would see one of the two only.
pub struct Captured(());

impl Captured {
    pub fn start() -> Self {
        static LISTENS: Once = Once::new();
        LISTENS.call_once(|| set_global_default(Ear).expect("nobody else listens"));
        LINES.with_borrow_mut(Vec::clear);
        Self(())
    }

    pub fn lines(&self) -> Vec<String> {
        LINES.with_borrow(Vec::clone)
    }

    /// The lines that say this.
    pub fn with(&self, text: &str) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| line.split_once(' ').is_some_and(|(_, rest)| rest.starts_with(text)));
        lines
    }
}

struct Ear;

impl Subscriber for Ear {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line::default();
        span.record(&mut line);
        let text = format!("SPAN {}{}", span.metadata().name(), line.fields);
        LINES.with_borrow_mut(|lines| lines.push(text));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        let text = format!("{} {}{}", event.metadata().level(), line.text, line.fields);
        let names: Vec<_> = event.fields().map(|field| field.name()).collect();
        let twice = (1..names.len()).filter(|at| names[..*at].contains(&names[*at]));
        LINES.with_borrow_mut(|lines| {
            lines.extend(twice.map(|at| format!("TWICE {}", names[at])));
            lines.push(text);
        });
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[derive(Default)]
struct Line {
    text: String,
    fields: String,
}

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let written = match field.name() {
            // A field of this name is the event's own text, or a value that is called so.
            "message" if self.text.is_empty() => write!(self.text, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
        written.expect("a string takes all");
    }
}
