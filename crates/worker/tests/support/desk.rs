//! What a stage notes of the calls that come to its store, and what it can do to one of them
//! or to one item of it.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use leasehold_core::{
    Backend, Claim, Commit, CommitItem, CommitVerdict, Error, ErrorKind, MemoryBackend, Purpose,
};
use tokio::sync::watch;

use super::{Staged, Verb};

/// In the way of every call.
#[derive(Debug, Default)]
pub struct Desk {
    claims: Mutex<Vec<Claim>>,
    commits: Mutex<Vec<Vec<CommitItem>>>,
    held: watch::Sender<HashSet<Verb>>,
    /// By the task's id.
    spoilt: Mutex<HashMap<String, (Spoils, ErrorKind)>>,
}

/// What a spoilt decision spoils.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spoils {
    /// Itself: the others of its call go on.
    Itself,
    /// Every call that it is in.
    ItsCall,
}

impl Desk {
    pub fn note_claim(&self, claim: &Claim) {
        self.claims.lock().unwrap().push(claim.clone());
    }

    pub fn note_commit(&self, commit: &Commit) {
        self.commits.lock().unwrap().push(commit.items.clone());
    }

    /// Comes back when calls of this verb are not held up.
    pub async fn passes(&self, verb: Verb) {
        let mut held = self.held.subscribe();
        held.wait_for(|held| !held.contains(&verb)).await.expect("the store lives");
    }

    fn spoils(&self, item: &CommitItem, what: Spoils) -> Option<ErrorKind> {
        let spoilt = self.spoilt.lock().unwrap();
        spoilt.get(&item.guard.task.id).filter(|(it, _)| *it == what).map(|(_, kind)| *kind)
    }
}

impl Staged {
    /// The store behind the faults, for what no worker may do.
    pub fn memory(&self) -> &MemoryBackend {
        &self.inner
    }

    /// Every claim of this purpose that has come, in order, failed ones among them.
    pub fn claims(&self, purpose: Purpose) -> Vec<Claim> {
        let claims = self.desk.claims.lock().unwrap();
        claims.iter().filter(|claim| claim.purpose == purpose).cloned().collect()
    }

    /// The items of every commit that has come, in order, failed ones among them.
    pub fn commits(&self) -> Vec<Vec<CommitItem>> {
        self.desk.commits.lock().unwrap().clone()
    }

    /// Calls of this verb come in and wait at the door until `release`.
    pub fn hold(&self, verb: Verb) {
        self.desk.held.send_modify(|held| _ = held.insert(verb));
    }

    pub fn release(&self, verb: Verb) {
        self.desk.held.send_modify(|held| _ = held.remove(&verb));
    }

    /// Decisions about this task are answered by an error until `mend`.
    pub fn spoil(&self, id: &str, spoils: Spoils, kind: ErrorKind) {
        self.desk.spoilt.lock().unwrap().insert(id.to_owned(), (spoils, kind));
    }

    pub fn mend(&self, id: &str) {
        self.desk.spoilt.lock().unwrap().remove(id);
    }

    /// A commit in which some items may be spoilt.
    pub(super) async fn commit_items(
        &self,
        request: Commit,
    ) -> Result<Vec<Result<CommitVerdict, Error>>, Error> {
        let staged = |kind| {
            self.fired.send_modify(|fired| *fired += 1);
            Error::new(kind, "staged")
        };
        let items = request.items;
        if let Some(kind) = items.iter().find_map(|item| self.desk.spoils(item, Spoils::ItsCall)) {
            return Err(staged(kind));
        }
        let bad: Vec<_> = items.iter().map(|item| self.desk.spoils(item, Spoils::Itself)).collect();
        let good = items.into_iter().zip(&bad).filter(|(_, bad)| bad.is_none());
        let good = Commit::new(good.map(|(item, _)| item).collect());
        let mut replies = self.inner.commit(good).await?.into_iter();
        let reply = |bad: Option<ErrorKind>| match bad {
            Some(kind) => Err(staged(kind)),
            None => replies.next().expect("one reply an item"),
        };
        Ok(bad.into_iter().map(reply).collect())
    }
}
