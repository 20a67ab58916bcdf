//! [`Started`]: a worker that has been checked, and its loops.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use leasehold_core::Error;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::claims::Claims;
use crate::commits::{BATCH_MAX, Commits};
use crate::handler::Registry;
use crate::health::{Health, Phase, Report, Stops};
use crate::held::Held;
use crate::janitor::Janitor;
use crate::pulse::Pulse;
use crate::rescuer::Rescuer;
use crate::serving::{Serving, Settings, supervise};
use crate::worker::Worker;

/// How long the last decisions may take to be written once the handlers have ended.
const FLUSH: Duration = Duration::from_secs(5);

/// How long what is dropped at the end is waited for.
const DROP: Duration = Duration::from_secs(1);

/// A worker that has been checked: its queues and their handlers' numbers.
pub(crate) struct Started {
    servings: Vec<(Arc<Serving>, usize)>,
    health: Health,
    phase: watch::Sender<Phase>,
    settings: Settings,
}

impl Started {
    pub fn new<S: Send + Sync + 'static>(worker: Worker<S>) -> Result<Self, Error> {
        let store = worker.client.store().clone();
        let capabilities = store.capabilities();
        capabilities.check_contract()?;
        worker.check(&capabilities.bounds)?;
        let registry = Arc::new(Registry::new(worker.handlers, &capabilities)?);
        let own = worker.queues;
        let served = worker.only.unwrap_or_else(|| {
            own.keys().cloned().chain(registry.queues().map(str::to_owned)).collect()
        });
        let (phase, now) = watch::channel(Phase::Working);
        let idle = Arc::new(Notify::new());
        let servings = served.into_iter().map(|queue| {
            let concurrency = own.get(&queue).copied().unwrap_or(worker.concurrency);
            let serving = Serving {
                store: store.clone(),
                client: worker.client.clone(),
                capabilities: capabilities.clone(),
                queue,
                settings: worker.settings.clone(),
                registry: registry.clone(),
                held: Arc::new(Held::default()),
                observers: worker.observers.clone(),
                health: worker.health.clone(),
                phase: now.clone(),
                found_nothing: AtomicBool::new(false),
                idle: idle.clone(),
                writable: watch::Sender::new(true),
            };
            (Arc::new(serving), concurrency)
        });
        let (servings, health) = (servings.collect(), worker.health);
        Ok(Self { servings, health, phase, settings: worker.settings })
    }

    pub async fn work<F: Future<Output = ()>>(
        self,
        stop: impl FnOnce(Vec<Arc<Serving>>) -> F,
    ) -> Result<Report, Error> {
        // Whatever ends this future ends these sets, and with them every task in them.
        let (mut work, mut care) = (JoinSet::new(), JoinSet::new());
        let servings: Vec<_> = self.servings.iter().map(|(serving, _)| serving.clone()).collect();
        for (serving, concurrency) in self.servings {
            self.health.serve(&serving.queue, serving.held.clone());
            let (decided, decisions) = mpsc::channel(concurrency.max(BATCH_MAX));
            let claims = Claims::new(serving.clone(), concurrency, decided.clone());
            work.spawn(supervise(serving.clone(), claims));
            work.spawn(supervise(serving.clone(), Rescuer::new(serving.clone(), decided)));
            work.spawn(supervise(serving.clone(), Commits::new(serving.clone(), decisions)));
            care.spawn(supervise(serving.clone(), Pulse(serving.clone())));
            care.spawn(supervise(serving.clone(), Janitor(serving)));
        }
        self.health.enter(Phase::Working);
        let stops = Stops(self.health.clone());
        stop(servings).await;
        let (grace, cancel) = (self.settings.grace, self.settings.cancel_grace());
        let cancel = cancel.min(grace);
        let mut ended = false;
        for (phase, patience) in
            [(Phase::Stopping, grace - cancel), (Phase::Cancelling, cancel + FLUSH)]
        {
            if !ended {
                self.health.enter(phase);
                self.phase.send_replace(phase);
                let all = async { while work.join_next().await.is_some() {} };
                ended = timeout(patience, all).await.is_ok();
            }
        }
        drop(care);
        // What is left is dropped, and its decisions told as unanswered. A handler that blocks
        // its thread ends when it can.
        work.abort_all();
        let _ = timeout(DROP, async { while work.join_next().await.is_some() {} }).await;
        drop(stops);
        Ok(self.health.report())
    }
}
