//! What a function has to look like to be a handler: a trait for each rule, so that the
//! compiler's error names the rule that was broken.

use crate::context::Context;
use crate::failure::Failure;

/// A function of these arguments. Other numbers than two are here for [`Arguments`] to refuse:
/// the compiler by itself would count them and not say which ones a handler takes.
pub trait Function<A> {
    /// What it returns.
    type Returned;

    /// Calls it.
    fn call(&self, arguments: A) -> Self::Returned;
}

macro_rules! functions {
    ($(($($argument:ident: $type:ident),*))+) => {$(
        impl<F: Fn($($type),*) -> R, R, $($type),*> Function<($($type,)*)> for F {
            type Returned = R;

            fn call(&self, ($($argument,)*): ($($type,)*)) -> R {
                self($($argument),*)
            }
        }
    )+};
}

functions! { () (a: A) (a: A, b: B) (a: A, b: B, c: C) }

/// The arguments of a handler whose worker has the state `S`.
#[diagnostic::on_unimplemented(
    message = "a handler of a worker with state `{S}` cannot take the arguments `{Self}`",
    label = "does not take a task and then `Context<{S}>`",
    note = "the task comes first, by value, and the context second: `async fn(task: YourTask, cx: Context<{S}>)`",
    note = "the context names the worker's state: `Context<App>` after `.state(app)`, else `Context`"
)]
pub trait Arguments<S, T>: TaskAndContext<S, T> {}

// Two steps, as the compiler would else infer the arguments from this rule before it looks at
// the function, and then say that the function has another type.
#[diagnostic::do_not_recommend]
impl<S, T, A: TaskAndContext<S, T>> Arguments<S, T> for A {}

/// The second step of [`Arguments`].
pub trait TaskAndContext<S, T> {
    /// Both of them.
    fn new(task: T, cx: Context<S>) -> Self;
}

impl<S, T> TaskAndContext<S, T> for (T, Context<S>) {
    fn new(task: T, cx: Context<S>) -> Self {
        (task, cx)
    }
}

/// What an `async fn` returns before it is awaited.
#[diagnostic::on_unimplemented(
    message = "a handler is `async`, and this one returns `{Self}`, which is no future",
    label = "is not `async`",
    note = "write `async fn`, or `async` in front of the closure"
)]
pub trait Async: Future {}

#[diagnostic::do_not_recommend]
impl<F: Future> Async for F {}

/// What a handler answers.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    label = "does not return `Result<_, Failure>`",
    note = "return `Result<_, Failure>`: `?` makes a `Failure` of every error",
    note = "a handler that cannot fail returns `Result<(), Failure>` and ends with `Ok(())`"
)]
pub trait Fallible {
    /// What it answers when it did not fail.
    type Value;

    /// The same.
    fn result(self) -> Result<Self::Value, Failure>;
}

#[diagnostic::do_not_recommend]
impl<R> Fallible for Result<R, Failure> {
    type Value = R;

    fn result(self) -> Self {
        self
    }
}
