//! [`Keys`]: what a queue's keys are called.

/// The names of a name space's keys.
///
/// Those of one queue share a hash tag, the queue's name, so that a cluster keeps them together.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    namespace: String,
}

impl Keys {
    pub fn new(namespace: impl Into<String>) -> Self {
        Self { namespace: namespace.into() }
    }

    /// The key that holds a queue's settings; the scripts derive every other one from it.
    pub fn queue(&self, name: &str) -> String {
        self.of_queue(name, "queue")
    }

    /// A key that never exists. Each script names it: while a cluster moves a queue's slot, node
    /// after node lacks some of its keys, and a script that finds one of them missing would work
    /// on half a queue. A command that names several keys of which one is missing is refused whole
    /// then (TRYAGAIN), before it has done anything.
    pub fn never(&self, name: &str) -> String {
        self.of_queue(name, "never")
    }

    /// The channel on which a queue's wake-ups are published.
    pub fn wake(&self, name: &str) -> String {
        self.of_queue(name, "wake")
    }

    /// The names of all queues, ordered by their bytes.
    pub fn queues(&self) -> String {
        format!("{}:queues", self.namespace)
    }

    fn of_queue(&self, name: &str, suffix: &str) -> String {
        format!("{}:{{{}}}:{suffix}", self.namespace, tag(name))
    }
}

/// A queue's name as a hash tag. Redis takes what stands between the first brace and the next
/// closing one, and the whole key where that is empty: so a name's own braces are written as
/// percent codes, and the percent sign with them, since no two names may become one.
fn tag(name: &str) -> String {
    let mut tag = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '{' => tag.push_str("%7B"),
            '}' => tag.push_str("%7D"),
            '%' => tag.push_str("%25"),
            c => tag.push(c),
        }
    }
    tag
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_breaks_the_tag_and_no_two_share_one() {
        let keys = Keys::new("lh");
        assert_eq!(keys.queue("mail"), "lh:{mail}:queue");
        let names = ["a", "{", "}", "}{", "%7D", "%", "{a}", "a}b", "*?[a]", "\u{e9}\u{1f980}"];
        let mut seen = std::collections::BTreeSet::new();
        for name in names {
            let key = keys.queue(name);
            let begin = key.find('{').expect("a tag begins") + 1;
            let end = begin + key[begin..].find('}').expect("it ends");
            assert!(end > begin, "{name:?} has an empty tag");
            assert_eq!(&key[end..], "}:queue", "{name:?} breaks its tag: {key}");
            assert!(seen.insert(key), "{name:?} has the keys of another");
        }
    }
}
