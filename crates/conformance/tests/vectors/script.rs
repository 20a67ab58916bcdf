//! [`Script`]: a history before its right answers are known.

use serde_json::{Value, json};

pub struct Script {
    pub name: &'static str,
    pub about: &'static str,
    pub features: &'static [&'static str],
    pub steps: Vec<(Value, Vec<Wrong>)>,
}

/// A wrong answer, by what it changes of the right one.
pub struct Wrong {
    breaks: &'static str,
    means: &'static str,
    answer: Said,
}

enum Said {
    Whole(Value),
    /// JSON pointers and what stands there instead; null takes the part away.
    Patched(Vec<(&'static str, Value)>),
}

/// Another answer altogether.
pub fn instead(breaks: &'static str, means: &'static str, answer: Value) -> Wrong {
    Wrong { breaks, means, answer: Said::Whole(answer) }
}

/// The right answer but for one part.
pub fn but(breaks: &'static str, means: &'static str, at: &'static str, part: Value) -> Wrong {
    Wrong { breaks, means, answer: Said::Patched(vec![(at, part)]) }
}

impl Script {
    pub fn new(name: &'static str, about: &'static str) -> Self {
        Self { name, about, features: &[], steps: Vec::new() }
    }

    pub fn needing(mut self, features: &'static [&'static str]) -> Self {
        self.features = features;
        self
    }

    pub fn step(mut self, call: Value, wrong: Vec<Wrong>) -> Self {
        self.steps.push((call, wrong));
        self
    }
}

impl Wrong {
    pub fn written(&self, right: &Value) -> Value {
        let answer = match &self.answer {
            Said::Whole(answer) => answer.clone(),
            Said::Patched(parts) => {
                let mut answer = right.clone();
                for (at, part) in parts {
                    put(&mut answer, at, part);
                }
                answer
            }
        };
        json!({ "breaks": self.breaks, "means": self.means, "answer": answer })
    }
}

fn put(answer: &mut Value, at: &str, part: &Value) {
    let (parent, name) = at.rsplit_once('/').expect("a pointer has a slash");
    let parent = answer.pointer_mut(parent).unwrap_or_else(|| panic!("nothing at {at}"));
    match parent {
        Value::Object(parts) if part.is_null() => drop(parts.remove(name)),
        Value::Object(parts) => drop(parts.insert(name.to_owned(), part.clone())),
        Value::Array(parts) => {
            let at: usize = name.parse().expect("a place in a list");
            parts[at] = part.clone();
        }
        other => panic!("{other} has no parts"),
    }
}
