//! Which fence of one store is which of the other.

use std::collections::{BTreeMap, HashMap};

use leasehold_core::{Fence, Left, Shown, StoredTask};

/// By task id, the fences of the memory store and their partners. A fence names a step only
/// together with its task.
#[derive(Default)]
pub struct Fences(HashMap<String, BTreeMap<Fence, Fence>>);

impl Fences {
    /// Takes `theirs` for the partner of `ours`, and checks that each task's fences grow in the
    /// same order in both stores.
    pub fn meet(&mut self, id: &str, ours: Fence, theirs: Fence) {
        let known = self.0.entry(id.to_owned()).or_default();
        let partner = *known.entry(ours).or_insert(theirs);
        assert_eq!(partner, theirs, "task {id}: fence {ours} has two partners");
        let below = known.range(..ours).next_back().map(|(_, theirs)| *theirs);
        let above = known.range(ours..).nth(1).map(|(_, theirs)| *theirs);
        assert!(below.is_none_or(|below| below < theirs), "task {id}: {theirs} after {below:?}");
        assert!(above.is_none_or(|above| theirs < above), "task {id}: {theirs} before {above:?}");
    }

    pub fn partner(&self, id: &str, ours: Fence) -> Fence {
        self.0[id][&ours]
    }

    fn meet_each(&mut self, id: &str, ours: Option<Fence>, theirs: Option<Fence>) {
        assert_eq!(ours.is_some(), theirs.is_some(), "task {id}: {ours:?} beside {theirs:?}");
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            self.meet(id, ours, theirs);
        }
    }

    fn shown(&mut self, id: &str, ours: Option<Shown>, theirs: &mut Option<Shown>) {
        self.meet_each(id, ours.map(|shown| shown.fence), theirs.map(|shown| shown.fence));
        if let (Some(ours), Some(theirs)) = (ours, theirs) {
            theirs.fence = ours.fence;
        }
    }

    /// Their task with our fences in it.
    pub fn translated(&mut self, ours: &StoredTask, mut theirs: StoredTask) -> StoredTask {
        let id = ours.task_ref.id.as_str();
        self.meet(id, ours.fence, theirs.fence);
        self.meet(id, ours.born, theirs.born);
        self.meet_each(id, ours.run, theirs.run);
        (theirs.fence, theirs.born, theirs.run) = (ours.fence, ours.born, ours.run);
        self.shown(id, ours.shown, &mut theirs.shown);
        for (ours, theirs) in ours.history.records.iter().zip(&mut theirs.history.records) {
            self.meet(id, Fence::new(ours.fence), Fence::new(theirs.fence));
            theirs.fence = ours.fence;
        }
        theirs
    }

    pub fn translated_left(&mut self, id: &str, ours: &Left, mut theirs: Left) -> Left {
        let mut shown = Some(theirs.shown);
        self.shown(id, Some(ours.shown), &mut shown);
        theirs.shown = shown.expect("it was set");
        theirs
    }
}
