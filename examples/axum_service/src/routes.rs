//! The requests.

use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use leasehold::{self as lh, Found, Phase, Receipt};
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::problem::Problem;
use crate::reports::{self, Report};

/// Longest name of a document, in bytes.
const NAME_MAX: usize = 100;

pub fn router(app: App) -> Router {
    Router::new()
        .route("/reports", post(order))
        .route("/reports/{id}", get(look))
        .route("/health", get(health))
        .with_state(app)
}

#[derive(Deserialize)]
struct Order {
    name: String,
}

/// Tells where the report will be: 202 for a new one, 200 when one is on its way already, so
/// that a client may ask twice and goes on in the same way.
async fn order(
    State(app): State<App>,
    body: Result<Json<Order>, JsonRejection>,
) -> Result<Response, Problem> {
    let Json(order) = body.map_err(|refused| {
        Problem::new(refused.status(), "the body is no JSON of the form {\"name\": \"...\"}")
    })?;
    if !is_document(&order.name) {
        return Err(Problem::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "name is no name of a document",
        ));
    }
    let receipt = reports::order(&app.client, &order.name).await?;
    let status = match &receipt {
        Receipt::Enqueued(_) => StatusCode::ACCEPTED,
        Receipt::Duplicate { .. } => StatusCode::OK,
    };
    let task = receipt.task();
    let place = [(header::LOCATION, format!("/reports/{}", task.id))];
    Ok((status, place, Json(task)).into_response())
}

/// A file of the folder itself: a path would lead out of it.
fn is_document(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    name.len() <= NAME_MAX
        && name.chars().all(is_plain)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

/// How a report stands. What is not there is left out.
#[derive(Debug, Serialize)]
struct Standing {
    state: &'static str,
    attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<Report>,
    /// Why there will be none, in one word; the handler's words are for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

async fn look(State(app): State<App>, Path(id): Path<String>) -> Result<Json<Standing>, Problem> {
    let task = match app.client.look(&reports::task(id)).await {
        Ok(Found::Task(task)) => task,
        Ok(Found::Left(_)) => {
            return Err(Problem::new(StatusCode::GONE, "the report is no longer kept"));
        }
        Ok(Found::Nothing) => return Err(unknown()),
        // Not even a possible id.
        Err(error) if error.kind() == lh::ErrorKind::Invalid => return Err(unknown()),
        Err(error) => return Err(error.into()),
    };
    let (state, reason) = match task.state {
        lh::State::Waiting => ("waiting", None),
        // A lapsed run is about to be started again, which is no business of a client.
        lh::State::Leased(_) => ("running", None),
        lh::State::Succeeded => ("done", None),
        lh::State::Dead(reason) => ("failed", Some(reason.as_str())),
        lh::State::Cancelled => ("cancelled", None),
    };
    let report = task.result_as()?;
    Ok(Json(Standing { state, attempt: task.attempt, report, reason }))
}

fn unknown() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "there is no such report")
}

#[derive(Serialize)]
struct Condition {
    phase: &'static str,
    running: usize,
    /// The loops whose last call failed.
    failing: Vec<String>,
}

/// 200 while the worker works and its store answers, else 503: for a load balancer, which
/// sends its requests elsewhere then.
async fn health(State(app): State<App>) -> (StatusCode, Json<Condition>) {
    let report = app.health.report();
    let failing = report.loops.iter().filter(|one| one.failing.is_some());
    let condition = Condition {
        phase: match report.phase {
            Phase::Idle => "starting",
            Phase::Working => "working",
            Phase::Stopping | Phase::Cancelling => "stopping",
            Phase::Stopped => "stopped",
        },
        running: report.running,
        failing: failing.map(|one| one.name.to_string()).collect(),
    };
    let status =
        if app.health.is_well() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (status, Json(condition))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use leasehold::{Client, Context, Failure, MemoryBackend, Task, Worker};
    use tokio::sync::Notify;

    use super::*;

    #[derive(Serialize, Deserialize, Task)]
    #[task(kind = "hold", delivery = at_least_once)]
    struct Hold;

    #[derive(Default)]
    struct Gate {
        entered: Notify,
        open: Notify,
    }

    async fn hold(_: Hold, cx: Context<Arc<Gate>>) -> Result<(), Failure> {
        cx.state().entered.notify_one();
        cx.state().open.notified().await;
        Ok(())
    }

    /// On one thread, a worker that was told to stop knows it after one turn of each task.
    const TURNS_MAX: usize = 1_000;

    #[tokio::test]
    async fn a_worker_is_well_from_its_start_to_its_stop() {
        let client = Client::new(Arc::new(MemoryBackend::new()));
        let (gate, stop) = (Arc::new(Gate::default()), Arc::new(Notify::new()));
        let worker = Worker::new(&client).state(gate.clone()).handler(hold);
        let app =
            App { client, health: worker.health(), documents: std::path::Path::new(".").into() };
        let told = async || {
            let (status, Json(condition)) = health(State(app.clone())).await;
            (status.as_u16(), condition.phase, condition.running)
        };
        assert_eq!(told().await, (503, "starting", 0));

        app.client.enqueue(Hold).await.expect("memory answers");
        let stopped = stop.clone();
        let running = tokio::spawn(worker.run_until(async move { stopped.notified().await }));
        gate.entered.notified().await;
        assert_eq!(told().await, (200, "working", 1));

        stop.notify_one();
        for _ in 0..TURNS_MAX {
            tokio::task::yield_now().await;
        }
        assert_eq!(told().await, (503, "stopping", 1));
        gate.open.notify_one();
        running.await.expect("it does not panic").expect("it started");
        assert_eq!(told().await, (503, "stopped", 0));
    }
}
