//! [`Script`]: one verb, [`Scripts`]: the texts of all, and [`Call`]: one run of one.

use std::sync::{Arc, LazyLock};

use redis::{Cmd, Value};

use crate::codec::{FORMAT_LETTER, unreadable};
use crate::error::Fault;
use crate::link::Link;

/// The files that a script is made of, in order; the last one is the verb.
type Files = &'static [(&'static str, &'static str)];

macro_rules! files {
    ($($name:literal),+) => {
        &[$(($name, include_str!(concat!("../lua/", $name, ".lua")))),+]
    };
}

/// The verbs, one script each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    Enqueue,
    Claim,
    Renew,
    Commit,
    Get,
    List,
    Counts,
    Configure,
    Purge,
}

/// A script's text and the hash that the server knows it by.
struct Text {
    text: String,
    hash: String,
}

/// The texts of all scripts, in the order of [`Script::ALL`].
pub(crate) struct Scripts(Vec<Text>);

impl Script {
    const ALL: [Script; 9] = [
        Self::Enqueue,
        Self::Claim,
        Self::Renew,
        Self::Commit,
        Self::Get,
        Self::List,
        Self::Counts,
        Self::Configure,
        Self::Purge,
    ];

    fn files(self) -> Files {
        match self {
            Self::Enqueue => {
                files!("part/head", "part/record", "part/limits", "part/enter", "enqueue")
            }
            Self::Claim => files!(
                "part/head",
                "part/record",
                "part/limits",
                "part/chosen",
                "part/ready",
                "part/lapsed",
                "claim"
            ),
            Self::Renew => files!("part/head", "part/record", "part/limits", "renew"),
            Self::Commit => files!(
                "part/head",
                "part/record",
                "part/limits",
                "part/enter",
                "part/leave",
                "commit"
            ),
            Self::Get => files!("part/head", "part/record", "part/read", "get"),
            Self::List => files!("part/head", "part/record", "part/read", "list"),
            Self::Counts => files!("part/head", "part/record", "part/limits", "counts"),
            Self::Configure => files!("part/head", "configure"),
            Self::Purge => files!(
                "part/head",
                "part/record",
                "part/limits",
                "part/leave",
                "part/mend",
                "purge"
            ),
        }
    }
}

impl Scripts {
    /// As they are written.
    pub fn written() -> Arc<Self> {
        static WRITTEN: LazyLock<Arc<Scripts>> =
            LazyLock::new(|| Arc::new(Scripts::of(|_, written| written)));
        WRITTEN.clone()
    }

    /// With another text of one file, which must be there.
    #[cfg(feature = "test-hooks")]
    pub fn edited(file: &str, text: &str) -> Self {
        let mut files = Script::ALL.iter().flat_map(|script| script.files());
        assert!(files.any(|(name, _)| *name == file), "there is no file {file}");
        Self::of(|name, written| if name == file { text } else { written })
    }

    fn of<'a>(text: impl Fn(&'static str, &'static str) -> &'a str) -> Self {
        let of = |script: &Script| Text::of(script.files(), &text);
        Self(Script::ALL.iter().map(of).collect())
    }

    fn text(&self, script: Script) -> &Text {
        &self.0[script as usize]
    }
}

impl Text {
    fn of<'a>(files: Files, text: impl Fn(&'static str, &'static str) -> &'a str) -> Self {
        let text: String = files.iter().map(|(name, written)| text(name, written)).collect();
        let hash = redis::Script::new(&text).get_hash().to_owned();
        Self { text, hash }
    }
}

/// One run of a script on one queue.
pub(crate) struct Call {
    script: Script,
    scripts: Arc<Scripts>,
    command: Cmd,
}

impl Call {
    /// A run on the queue with these keys, as in `lua/part/head.lua`; `clock` is what the script
    /// takes for the time, empty for the server's own.
    pub fn new(scripts: &Arc<Scripts>, script: Script, keys: [String; 2], clock: &str) -> Self {
        let mut command = redis::cmd("EVALSHA");
        command.arg(&scripts.text(script).hash);
        command.arg(keys.len()).arg(&keys).arg(clock).arg(FORMAT_LETTER.to_string());
        Self { script, scripts: scripts.clone(), command }
    }

    /// Adds an argument.
    pub fn arg(&mut self, arg: impl AsRef<[u8]>) -> &mut Self {
        self.command.arg(arg.as_ref());
        self
    }

    /// Adds a number, in decimal.
    pub fn number(&mut self, number: impl ToString) -> &mut Self {
        self.arg(number.to_string())
    }

    /// Runs the script. A server that does not know it yet, or any more, is given its text: it
    /// has then done nothing, so that this repeats nothing.
    pub async fn run(self, link: &Link) -> Result<Vec<Value>, Fault> {
        let reply = match link.send(&self.command).await {
            Err(fault) if fault.code() == Some("NOSCRIPT") => link.send(&self.by_text()).await?,
            reply => reply?,
        };
        match reply {
            Value::Array(values) => Ok(values),
            _ => Err(unreadable("a script's reply")),
        }
    }

    fn by_text(&self) -> Cmd {
        let mut command = redis::cmd("EVAL");
        command.arg(&self.scripts.text(self.script).text);
        for arg in self.command.args_iter().skip(2) {
            match arg {
                redis::Arg::Simple(bytes) => command.arg(bytes),
                _ => unreachable!("a script has plain arguments only"),
            };
        }
        command
    }
}
