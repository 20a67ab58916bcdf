//! A batch over several queues, or too large for one run: [`split`] into parts of one queue each,
//! and [`join`]ed to replies in the order of the items.

use std::collections::BTreeMap;

use leasehold_core::{Error, ErrorKind};

use crate::error::{Fault, told};

/// Items of one queue, and where they stood in the batch.
pub(crate) struct Part<T> {
    pub queue: String,
    pub places: Vec<usize>,
    pub items: Vec<T>,
}

/// What a run costs the server, which does nothing else meanwhile.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Weight {
    /// Tasks that are written.
    pub tasks: usize,
    /// Bytes that are sent.
    pub bytes: usize,
}

impl Weight {
    fn with(self, other: Self) -> Self {
        Self { tasks: self.tasks + other.tasks, bytes: self.bytes + other.bytes }
    }

    fn fits(self, most: Self) -> bool {
        self.tasks <= most.tasks && self.bytes <= most.bytes
    }
}

/// The parts, none heavier than `most` unless a single item is, and the items that are refused at
/// once.
pub(crate) fn split<T>(
    items: impl IntoIterator<Item = Result<(String, T), Error>>,
    most: Weight,
    weigh: impl Fn(&T) -> Weight,
) -> (Vec<Part<T>>, Vec<(usize, Error)>) {
    let mut parts: Vec<Part<T>> = Vec::new();
    let (mut open, mut refused) = (BTreeMap::<String, (usize, Weight)>::new(), Vec::new());
    for (place, item) in items.into_iter().enumerate() {
        let (queue, item) = match item {
            Ok(item) => item,
            Err(error) => {
                refused.push((place, error));
                continue;
            }
        };
        let weight = weigh(&item);
        let (at, load) = match open.get(&queue) {
            Some((at, load)) if load.with(weight).fits(most) => (*at, load.with(weight)),
            _ => {
                let (places, items) = (Vec::new(), Vec::new());
                parts.push(Part { queue: queue.clone(), places, items });
                (parts.len() - 1, weight)
            }
        };
        open.insert(queue, (at, load));
        parts[at].places.push(place);
        parts[at].items.push(item);
    }
    (parts, refused)
}

/// A part's places in the batch, and what became of it.
pub(crate) type Answered<V> = (Vec<usize>, Result<Vec<Result<V, Error>>, Fault>);

/// One reply an item. Where every part failed the call does; where some did, their items have
/// failed, since those of the others have been applied.
pub(crate) fn join<V>(
    verb: &str,
    n: usize,
    refused: Vec<(usize, Error)>,
    answered: Vec<Answered<V>>,
) -> Result<Vec<Result<V, Error>>, Fault> {
    let all_failed = !answered.is_empty() && answered.iter().all(|(_, replies)| replies.is_err());
    let mut joined: Vec<Option<Result<V, Error>>> = (0..n).map(|_| None).collect();
    for (place, error) in refused {
        joined[place] = Some(Err(error));
    }
    for (places, replies) in answered {
        match replies {
            Ok(replies) => {
                for (place, reply) in places.into_iter().zip(replies) {
                    joined[place] = Some(reply);
                }
            }
            Err(fault) if all_failed => return Err(fault),
            Err(fault) => {
                let error = told(verb, fault);
                for place in places {
                    let what = error.to_string();
                    joined[place] = Some(Err(Error::new(error.kind(), what)));
                }
            }
        }
    }
    let missing = || Error::new(ErrorKind::Internal, format!("{verb}: a reply is missing"));
    Ok(joined.into_iter().map(|reply| reply.unwrap_or_else(|| Err(missing()))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(queue: &str, weight: usize) -> Result<(String, usize), Error> {
        Ok((queue.to_owned(), weight))
    }

    #[test]
    fn each_part_is_of_one_queue_and_light_enough() {
        let invalid = Err(Error::invalid("no"));
        let items = [item("a", 1), item("b", 1), invalid, item("a", 2), item("a", 1), item("a", 9)];
        let most = Weight { tasks: 3, bytes: usize::MAX };
        let (parts, refused) = split(items, most, |n| Weight { tasks: *n, bytes: 0 });
        let told: Vec<_> = parts.iter().map(|p| (p.queue.as_str(), p.places.clone())).collect();
        let wanted = [("a", vec![0, 3]), ("b", vec![1]), ("a", vec![4]), ("a", vec![5])];
        assert_eq!(told, wanted);
        assert_eq!(refused.len(), 1);
        assert_eq!(refused[0].0, 2);
    }

    #[test]
    fn a_part_that_failed_fails_its_own_items() {
        let down = || Fault::Down("no server".to_owned());
        let answered = vec![(vec![0, 2], Err(down())), (vec![1], Ok(vec![Ok(7)]))];
        let joined = join("commit", 3, Vec::new(), answered).expect("one part was answered");
        let kind = |at: usize| joined[at].as_ref().map_err(Error::kind);
        assert_eq!(kind(0), Err(ErrorKind::Unavailable));
        assert_eq!(kind(1), Ok(&7));
        assert_eq!(kind(2), Err(ErrorKind::Unavailable));
        let all: Vec<Answered<u8>> = vec![(vec![0], Err(down()))];
        assert!(join("commit", 1, Vec::new(), all).is_err(), "nothing was applied");
    }
}
