//! Tasks as Rust types: the trait [`Task`], and how a value becomes a payload and comes back.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::error::Category;

use crate::{Delivery, Error, ErrorKind, Payload, Priority, RetryPolicy, StoredTask};

/// A type of task: what it is called, and what follows when it does not go well.
///
/// Derive it, or write it by hand:
///
/// ```
/// use leasehold_core::{Delivery, typed::Task};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Welcome {
///     user: u64,
/// }
///
/// impl Task for Welcome {
///     const KIND: &'static str = "mail.welcome";
///     const DELIVERY: Delivery = Delivery::at_least_once();
/// }
/// ```
///
/// The payload is the value as JSON. A field that is added later needs a serde default, so
/// that tasks which wait already can still be read.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a task",
    label = "no `Task` for this type",
    note = "above the type write `#[derive(serde::Serialize, serde::Deserialize, leasehold::Task)]` \
            and `#[task(kind = \"...\", delivery = at_least_once)]`",
    note = "a task is given and taken by value: `YourTask`, not `&YourTask`"
)]
pub trait Task: Json + Send + 'static {
    /// The name that picks the handler. It is stored with every task: it stays as it is when
    /// the type is renamed or moved.
    const KIND: &'static str;

    /// What follows a lost worker; always stated (LH-MODE-1).
    const DELIVERY: Delivery;

    /// The queue that such tasks wait under, unless an enqueue names another.
    const QUEUE: &'static str = "default";

    /// The priority, unless an enqueue names another.
    const PRIORITY: Priority = Priority::DEFAULT;

    /// How often a failure is retried, and after which delay, unless an enqueue says otherwise.
    const RETRY: RetryPolicy = RetryPolicy::DEFAULT;

    /// How long a handler may run; it is then cancelled, which counts as a failure.
    const TIMEOUT: Duration = Duration::from_secs(30 * 60);

    /// Whether a kind that must not run again after a lost worker may all the same be worked
    /// from a store that can lose a confirmed claim (LH-MODE-4). Says nothing about others.
    const ACCEPT_LOSS: bool = false;
}

/// A value that can be stored as JSON: every one that serde both writes and reads.
///
/// It stands before serde's traits so that a type without them is told in one short error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be stored as JSON",
    label = "serde does not both write and read it",
    note = "above the type write `#[derive(serde::Serialize, serde::Deserialize)]`",
    note = "type parameters need the bounds `serde::Serialize` and `serde::de::DeserializeOwned`"
)]
pub trait Json: Sized {
    /// Writes it ([`to_json`]).
    ///
    /// # Errors
    /// Those of [`to_json`].
    fn write(&self, what: &str) -> Result<Payload, Error>;

    /// Reads it ([`from_json`]).
    ///
    /// # Errors
    /// Those of [`from_json`].
    fn read(json: &Payload, what: &str) -> Result<Self, Error>;
}

// Not recommended: the words above instead of all types that serde knows.
#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> Json for T {
    fn write(&self, what: &str) -> Result<Payload, Error> {
        to_json(self, what)
    }

    fn read(json: &Payload, what: &str) -> Result<Self, Error> {
        from_json(json, what)
    }
}

/// The payload of a task: its JSON.
///
/// # Errors
/// Invalid when the type refuses to be serialized, naming the kind and no content.
pub fn encode<T: Task>(task: &T) -> Result<Payload, Error> {
    task.write(&format!("a task of kind {:?}", T::KIND))
}

/// The task in a payload.
///
/// # Errors
/// Corrupt, saying where the payload departs from the type, and quoting no content.
pub fn decode<T: Task>(payload: &Payload) -> Result<T, Error> {
    T::read(payload, &format!("the payload of kind {:?}", T::KIND))
}

/// What a handler leaves behind: its value as JSON; `null` leaves nothing.
///
/// # Errors
/// Invalid when the type refuses to be serialized. Whether a store takes so large a result is
/// a matter of its bounds ([`Bounds::check_result`](crate::Bounds::check_result)).
pub fn encode_result<T: Serialize>(value: &T) -> Result<Option<Payload>, Error> {
    let json = to_json(value, "the result")?;
    Ok((json.as_bytes() != b"null").then_some(json))
}

impl StoredTask {
    /// What the success left, as the type that the handler returned; `None` when it left
    /// nothing, or the task has not succeeded.
    ///
    /// # Errors
    /// Corrupt when the result is none of this type.
    pub fn result_as<T: DeserializeOwned>(&self) -> Result<Option<T>, Error> {
        self.result.as_ref().map(|result| from_json(result, "the result")).transpose()
    }
}

/// Writes JSON.
///
/// # Errors
/// Invalid when the type refuses, naming `what` and quoting no content.
pub fn to_json<T: Serialize + ?Sized>(value: &T, what: &str) -> Result<Payload, Error> {
    // The error of serde_json may quote a value, which has no place in a log.
    let refused = |_| Error::invalid(format!("{what} cannot be written as JSON"));
    serde_json::to_vec(value).map(Payload::from).map_err(refused)
}

/// Reads JSON.
///
/// # Errors
/// Corrupt, naming `what`, line and column and quoting no content.
pub fn from_json<T: DeserializeOwned>(json: &Payload, what: &str) -> Result<T, Error> {
    serde_json::from_slice(json.as_bytes()).map_err(|error| {
        let text = error.to_string();
        let why = match error.classify() {
            // The name of a field is the program's own, and no content.
            Category::Data if text.starts_with("missing field") => text,
            Category::Data => at("holds a value of another type", &error),
            Category::Eof => at("ends too early", &error),
            Category::Syntax | Category::Io => at("is no JSON", &error),
        };
        Error::new(ErrorKind::Corrupt, format!("{what}: {why}"))
    })
}

fn at(what: &str, error: &serde_json::Error) -> String {
    format!("{what} at line {} column {}", error.line(), error.column())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounds;

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Mail {
        to: String,
        copies: u8,
    }

    impl Task for Mail {
        const KIND: &'static str = "mail";
        const DELIVERY: Delivery = Delivery::AtMostOnce;
    }

    #[test]
    fn a_task_comes_back_from_its_payload() {
        let mail = Mail { to: "ada".into(), copies: 2 };
        let payload = encode(&mail).expect("it is JSON");
        assert_eq!(decode::<Mail>(&payload).expect("it is the same"), mail);
    }

    #[test]
    fn what_cannot_be_read_is_told_without_its_content() {
        let wrong = [
            (r#"{"to":"secret"}"#, "missing field `copies`"),
            (r#"{"to":"x","copies":"secret"}"#, "another type at line 1 column 27"),
            (r#"{"to":"secret""#, "ends too early"),
            ("secret", "is no JSON"),
        ];
        for (json, why) in wrong {
            let error = decode::<Mail>(&Payload::from(json)).expect_err(json);
            let text = error.to_string();
            assert!(text.contains(why) && !text.contains("secret"), "{text}");
            assert_eq!(error.kind(), ErrorKind::Corrupt);
        }
    }

    #[test]
    fn a_result_of_nothing_is_not_kept_and_a_large_one_is_refused() {
        assert_eq!(encode_result(&()).expect("it is JSON"), None);
        assert_eq!(encode_result(&17).expect("it is JSON"), Some(Payload::from("17")));
        let bounds = Bounds::default().with_payload_bytes_max(4);
        bounds.check_result(&Payload::from("long")).expect("it is just small enough");
        let error = bounds.check_result(&Payload::from("large")).expect_err("it is too large");
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
}
