#![doc = include_str!("../README.md")]

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

mod errors;
mod expand;
mod parameter;
mod settings;
mod value;

/// Makes a struct or an enum a task: `impl Task` with what `#[task(...)]` says.
///
/// ```
/// # extern crate leasehold_core as leasehold;
/// # use leasehold_core::Task as _;
/// #[derive(serde::Serialize, serde::Deserialize, leasehold_macros::Task)]
/// #[task(kind = "mail.welcome", delivery = at_least_once)]
/// #[task(queue = "mail", max_retries = 8, timeout = "30s")]
/// struct Welcome {
///     user: u64,
/// }
///
/// assert_eq!(Welcome::KIND, "mail.welcome");
/// assert_eq!(Welcome::TIMEOUT.as_secs(), 30);
/// ```
///
/// A wrong parameter is an error of the compiler. There may be several attributes; what none of
/// them says stays as the trait has it.
///
/// | parameter | value | says |
/// |---|---|---|
/// | `kind` | a string | the name that picks the handler; required |
/// | `delivery` | one of the words below | what follows a lost worker; required |
/// | `queue` | a string | the queue that such tasks wait under |
/// | `priority` | 0 to 9 | 9 is served first |
/// | `max_retries` | 0 or more | the retry budget, with the default backoff; not with `at_most_once` |
/// | `max_rescues` | 1 or more | the rescue budget; only with `at_least_once` |
/// | `timeout` | `"500ms"`, `"30s"`, `"5m"`, `"2h"` | how long a handler may run |
/// | `accept_loss` | none | the kind may be worked from a store that can lose a confirmed claim; not with `at_least_once` |
/// | `crate` | a path | the crate that has `Task` at its root, where it is not `::leasehold` |
///
/// | delivery | after a lost worker | after a failure that the handler told |
/// |---|---|---|
/// | `at_least_once` | runs again, `max_rescues` times or 3 times at most | is retried |
/// | `not_after_loss` | never runs again | is retried |
/// | `at_most_once` | never runs again | is not retried |
///
/// A name, of a kind or a queue, has 1 to 200 bytes and no control character.
///
/// # Without the facade
///
/// A crate that depends on `leasehold-core` alone names it:
///
/// ```
/// # use leasehold_core::{Delivery, Task as _};
/// #[derive(serde::Serialize, serde::Deserialize, leasehold_macros::Task)]
/// #[task(crate = leasehold_core, kind = "invoice.charge", delivery = not_after_loss)]
/// struct Charge {
///     invoice: u64,
/// }
///
/// assert_eq!(Charge::DELIVERY, Delivery::NotAfterLoss);
/// ```
///
/// # Generic types
///
/// A type with parameters has one kind for all of them: a handler that reads such a task must
/// know which it is. The bounds stand at the type, and serde is told not to add its own:
///
/// ```
/// # extern crate leasehold_core as leasehold;
/// use serde::{Deserialize, Serialize, de::DeserializeOwned};
///
/// #[derive(Serialize, Deserialize, leasehold_macros::Task)]
/// #[serde(bound = "")]
/// #[task(kind = "batch", delivery = at_least_once)]
/// struct Batch<T: Serialize + DeserializeOwned + Send + 'static> {
///     items: Vec<T>,
/// }
/// ```
///
/// A lifetime parameter is refused: a task is read back long after what it would borrow from.
#[proc_macro_derive(Task, attributes(task))]
pub fn derive_task(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand::task(&input).unwrap_or_else(|error| expand::refused(&input, &error)).into()
}
