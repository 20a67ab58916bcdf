//! What came of it, read back from the store.

use leasehold::{Backend, Delivery, Error, Filter, List, State, StoredTask};

use crate::say;
use crate::tasks::QUEUE;

/// Far more than there are.
const TASKS_MAX: usize = 100;

/// Prints the table of the tasks and their budgets, and as the very last line the sums.
pub async fn report(store: &dyn Backend) -> Result<(), Error> {
    let tasks = store.list(List::new(QUEUE, Filter::all(), TASKS_MAX)).await?.tasks;
    let head = ["task", "delivery", "state", "runs", "failures", "rescues"].map(str::to_owned);
    for [task, delivery, state, runs, failures, rescues] in
        std::iter::once(head).chain(tasks.iter().map(row))
    {
        say(format_args!(
            "{task:<15}  {delivery:<14}  {state:<14}  {runs:>4}  {failures:>8}  {rescues:>7}"
        ));
    }
    say(last_line(&tasks));
    Ok(())
}

fn row(task: &StoredTask) -> [String; 6] {
    let policy = &task.policy;
    let retries = policy.delivery.max_retries(&policy.retry);
    [
        task.task_ref.id.clone(),
        word(policy.delivery).to_owned(),
        task.state.to_string(),
        task.attempt.to_string(),
        format!("{} of {retries}", task.failures),
        format!("{} of {}", task.rescues, policy.delivery.max_rescues()),
    ]
}

/// As the attribute of a task type writes it.
fn word(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::AtLeastOnce { .. } => "at_least_once",
        Delivery::NotAfterLoss => "not_after_loss",
        Delivery::AtMostOnce => "at_most_once",
    }
}

fn last_line(tasks: &[StoredTask]) -> String {
    let succeeded = tasks.iter().filter(|task| task.state == State::Succeeded).count();
    let dead = tasks.iter().filter(|task| matches!(task.state, State::Dead(_))).count();
    let sum = |part: fn(&StoredTask) -> u32| tasks.iter().map(part).sum::<u32>();
    format!(
        "failures: {} tasks, {succeeded} succeeded, {dead} dead, {} runs, {} failures, {} rescues",
        tasks.len(),
        sum(|task| task.attempt),
        sum(|task| task.failures),
        sum(|task| task.rescues),
    )
}
