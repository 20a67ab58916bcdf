//! From a server's error to one of core: [`told`], the only place that knows both.

use std::time::Duration;

use leasehold_core::{Error, ErrorKind};

/// What ends a call early.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The server answered with an error.
    Refused(Refusal),
    /// The command was handed to a connection and its reply never came.
    Lost(redis::RedisError),
    /// The deadline of the call passed.
    Late(Duration),
    /// There is no connection, for this reason: the command was not sent.
    Down(String),
    /// Core or the backend has said already what is wrong.
    Told(Error),
}

/// An error that the server answered with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    code: String,
    detail: String,
}

impl Fault {
    /// An error reply of the server, or of a script (`LH_...`).
    pub(crate) fn refused(code: &str, detail: &str) -> Self {
        let code = code_inside(code, detail).unwrap_or(code).to_owned();
        Self::Refused(Refusal { code, detail: detail.to_owned() })
    }

    /// The first word of an error reply, such as `NOSCRIPT` or `LH_STALE`.
    pub(crate) fn code(&self) -> Option<&str> {
        match self {
            Self::Refused(refusal) => Some(&refusal.code),
            _ => None,
        }
    }

    /// What follows the code in an error reply.
    pub(crate) fn detail(&self) -> Option<&str> {
        match self {
            Self::Refused(refusal) => Some(&refusal.detail),
            _ => None,
        }
    }
}

/// Before 7.0 a script that failed inside answers `ERR Error running script ...: -OOM ...`.
fn code_inside<'a>(code: &str, detail: &'a str) -> Option<&'a str> {
    if code != "ERR" || !detail.starts_with("Error running script") {
        return None;
    }
    let (_, inner) = detail.rsplit_once(": -")?;
    inner.split(' ').next().filter(|word| !word.is_empty())
}

impl From<redis::RedisError> for Fault {
    fn from(error: redis::RedisError) -> Self {
        match error.code() {
            Some(code) => Self::refused(code, error.detail().unwrap_or_default()),
            None => Self::Lost(error),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Told(error)
    }
}

/// What the caller of `verb` is told about a fault.
pub(crate) fn told(verb: &str, fault: Fault) -> Error {
    match fault {
        Fault::Told(error) => error,
        Fault::Refused(Refusal { code, detail }) => {
            let (kind, why) = judge(&code, &detail);
            Error::new(kind, format!("{verb}: {why}")).with_source(format!("{code} {detail}"))
        }
        Fault::Lost(source) => {
            let (kind, why) = if source.kind() == redis::ErrorKind::Io || ends_within(&source) {
                (ErrorKind::Unavailable, "the reply was lost; the call may have been applied")
            } else {
                (ErrorKind::Internal, "the reply is none that this build understands")
            };
            Error::new(kind, format!("{verb}: {why}")).with_source(source)
        }
        Fault::Late(after) => {
            let what = format!("{verb}: no reply within {after:?}; the call may have been applied");
            Error::new(ErrorKind::Unavailable, what)
        }
        Fault::Down(why) => {
            Error::new(ErrorKind::Unavailable, format!("{verb}: not sent, as {why}"))
        }
    }
}

/// Whether the connection ended within a reply, which the driver tells as a reply that it cannot
/// read.
fn ends_within(error: &redis::RedisError) -> bool {
    let detail = error.detail().unwrap_or_default();
    error.kind() == redis::ErrorKind::Parse && detail.contains("end of input")
}

/// How to react to an error reply, and why, in a few words; the server's own words follow as
/// the source.
fn judge(code: &str, detail: &str) -> (ErrorKind, &'static str) {
    match code {
        // What a script is told during a move about a key that it did not declare.
        "ERR" if detail.starts_with("Script attempted to access a non local key") => {
            (ErrorKind::Unavailable, "the queue is moving between nodes of the cluster")
        }
        "LOADING" => (ErrorKind::Unavailable, "the server is still loading its data"),
        "BUSY" => (ErrorKind::Unavailable, "a script holds the server up"),
        "OOM" => (ErrorKind::Unavailable, "the server has no memory left under its maxmemory"),
        "MISCONF" => (ErrorKind::Unavailable, "the server cannot write to its disk"),
        "READONLY" => (ErrorKind::Unavailable, "the server is a replica"),
        "NOREPLICAS" => (ErrorKind::Unavailable, "the server has too few replicas to write"),
        "MASTERDOWN" | "CLUSTERDOWN" => {
            (ErrorKind::Unavailable, "the part of the cluster that holds the queue is down")
        }
        "MOVED" | "ASK" | "TRYAGAIN" => {
            (ErrorKind::Unavailable, "the queue is moving between nodes of the cluster")
        }
        "NOAUTH" | "WRONGPASS" | "NOPERM" => {
            (ErrorKind::Unavailable, "the server refuses the user: see its password and ACL")
        }
        "WRONGTYPE" => (ErrorKind::Corrupt, "a key holds what Leasehold did not write"),
        _ => (ErrorKind::Internal, "the server refused a command"),
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as StdError;
    use std::io;

    use super::*;

    #[test]
    fn each_code_has_a_kind() {
        let table = [
            ("LOADING", ErrorKind::Unavailable),
            ("BUSY", ErrorKind::Unavailable),
            ("OOM", ErrorKind::Unavailable),
            ("MISCONF", ErrorKind::Unavailable),
            ("READONLY", ErrorKind::Unavailable),
            ("NOREPLICAS", ErrorKind::Unavailable),
            ("MASTERDOWN", ErrorKind::Unavailable),
            ("CLUSTERDOWN", ErrorKind::Unavailable),
            ("MOVED", ErrorKind::Unavailable),
            ("ASK", ErrorKind::Unavailable),
            ("TRYAGAIN", ErrorKind::Unavailable),
            ("NOAUTH", ErrorKind::Unavailable),
            ("WRONGPASS", ErrorKind::Unavailable),
            ("NOPERM", ErrorKind::Unavailable),
            ("WRONGTYPE", ErrorKind::Corrupt),
            ("ERR", ErrorKind::Internal),
            ("NOSCRIPT", ErrorKind::Internal),
            ("CROSSSLOT", ErrorKind::Internal),
            ("LH_ODD", ErrorKind::Internal),
        ];
        for (code, expected) in table {
            let error = told("claim", Fault::refused(code, "as the server says"));
            assert_eq!(error.kind(), expected, "{code}");
            let source = error.source().expect("the server's words").to_string();
            assert_eq!(source, format!("{code} as the server says"));
            assert!(error.to_string().starts_with("claim: "), "{error}");
        }
    }

    #[test]
    fn a_script_that_met_a_key_on_the_move_is_unavailable() {
        let detail = "Script attempted to access a non local key in a cluster node script: ab";
        let error = told("claim", Fault::refused("ERR", detail));
        assert_eq!(error.kind(), ErrorKind::Unavailable);
    }

    #[test]
    fn a_call_without_a_reply_is_unavailable_and_says_whether_it_was_sent() {
        let broken = redis::RedisError::from(io::Error::from(io::ErrorKind::BrokenPipe));
        let error = told("renew", Fault::from(broken));
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("may have been applied"), "{error}");

        // The connection ended within the reply.
        let cut = redis::parse_redis_value(b"*2\r\n$3\r\nab").expect_err("the rest is missing");
        let error = told("renew", Fault::from(cut));
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
        assert!(error.to_string().contains("may have been applied"), "{error}");

        let error = told("renew", Fault::Late(Duration::from_secs(5)));
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert!(error.to_string().contains("may have been applied"), "{error}");

        let error = told("renew", Fault::Down("nobody listens".to_owned()));
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert_eq!(error.to_string(), "renew: not sent, as nobody listens");

        let odd = redis::RedisError::from((redis::ErrorKind::UnexpectedReturnType, "odd"));
        assert_eq!(told("renew", Fault::from(odd)).kind(), ErrorKind::Internal);
    }

    #[test]
    fn what_was_told_stays() {
        let error = told("renew", Fault::from(Error::invalid("as said")));
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Invalid, "as said"));
    }

    #[test]
    fn the_code_is_found_inside_what_an_old_server_says_about_a_script() {
        let fault = Fault::refused(
            "ERR",
            "Error running script (call to f_ab): @user_script:1: @user_script: 1: -OOM command \
             not allowed when used memory > 'maxmemory'.",
        );
        assert_eq!(fault.code(), Some("OOM"));
        assert_eq!(Fault::refused("ERR", "unknown command: -x").code(), Some("ERR"));
        assert_eq!(Fault::refused("LH_STALE", "").code(), Some("LH_STALE"));
        assert_eq!(Fault::Late(Duration::ZERO).code(), None);
    }
}
