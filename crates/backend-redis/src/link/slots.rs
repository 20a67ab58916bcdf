//! Which slot a key is in, which key a command is for, and who holds which slots.

use redis::{Arg, Cmd, Value};

use crate::config::Address;
use crate::error::Fault;

/// How many slots a cluster has.
const SLOTS: u16 = 16384;

/// The slot of a key: that of its tag, if it has one.
pub(super) fn slot(key: &[u8]) -> u16 {
    crc16(tag(key)) % SLOTS
}

/// What stands between the first `{` and the next `}`, unless that is nothing.
fn tag(key: &[u8]) -> &[u8] {
    let Some(from) = key.iter().position(|byte| *byte == b'{') else { return key };
    let rest = &key[from + 1..];
    match rest.iter().position(|byte| *byte == b'}') {
        None | Some(0) => key,
        Some(to) => &rest[..to],
    }
}

/// CRC-16/XMODEM, as the specification of the cluster wants it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(*byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    })
}

/// The slot of a command's first key; `None` when it has none.
pub(super) fn slot_of(command: &Cmd) -> Option<u16> {
    let mut args = command.args_iter().map(|arg| match arg {
        Arg::Simple(bytes) => bytes,
        // Only a SCAN has another kind, and it has no key.
        _ => b"0".as_slice(),
    });
    let name = args.next()?.to_ascii_uppercase();
    let key = match name.as_slice() {
        b"EVAL" | b"EVALSHA" | b"EVAL_RO" | b"EVALSHA_RO" | b"FCALL" | b"FCALL_RO" => {
            args.nth(1).filter(|count| *count != b"0")?;
            args.next()
        }
        b"ACL" | b"CLIENT" | b"CLUSTER" | b"CONFIG" | b"DBSIZE" | b"ECHO" | b"FUNCTION"
        | b"HELLO" | b"INFO" | b"PING" | b"PUBLISH" | b"ROLE" | b"SCAN" | b"SCRIPT" | b"TIME"
        | b"WAIT" => None,
        _ => args.next(),
    };
    key.map(slot)
}

/// Some slots and the master that holds them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Range {
    pub first: u16,
    pub last: u16,
    pub owner: Address,
}

/// Reads the reply to CLUSTER SLOTS of the node at `from`.
pub(super) fn ranges(reply: &Value, from: &Address) -> Result<Vec<Range>, Fault> {
    let Value::Array(entries) = reply else { return Err(unreadable()) };
    entries.iter().map(|entry| range(entry, from).ok_or_else(unreadable)).collect()
}

fn range(entry: &Value, from: &Address) -> Option<Range> {
    let Value::Array(parts) = entry else { return None };
    let [Value::Int(first), Value::Int(last), Value::Array(master), ..] = parts.as_slice() else {
        return None;
    };
    let [host, Value::Int(port), ..] = master.as_slice() else { return None };
    let host = match host {
        Value::BulkString(host) => std::str::from_utf8(host).ok()?,
        Value::Nil => "",
        _ => return None,
    };
    let slot = |number: &i64| u16::try_from(*number).ok().filter(|slot| *slot < SLOTS);
    Some(Range {
        first: slot(first)?,
        last: slot(last)?,
        owner: known(host, u16::try_from(*port).ok()?, from),
    })
}

/// Where a redirection of the node at `from` leads: `SLOT HOST:PORT`.
pub(super) fn redirected(detail: &str, from: &Address) -> Option<Address> {
    let place = detail.split(' ').nth(1)?;
    let (host, port) = place.rsplit_once(':')?;
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    Some(known(host, port.parse().ok()?, from))
}

/// A node that does not know its own host leaves it out; then it is the one that was asked.
fn known(host: &str, port: u16, from: &Address) -> Address {
    let host = if matches!(host, "" | "?") { &from.host } else { host };
    Address { host: host.to_owned(), port }
}

fn unreadable() -> Fault {
    Fault::Down("the cluster's map of slots cannot be read".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(host: &str, port: u16) -> Address {
        Address { host: host.to_owned(), port }
    }

    #[test]
    fn slots_are_those_of_the_specification() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(slot(b"foo"), 12182);
        assert_eq!(slot(b"lh:{foo}:tasks"), slot(b"foo"));
        assert_eq!(slot(b"lh:{foo}{bar}"), slot(b"foo"));
        assert_ne!(slot(b"lh:{}{foo}"), slot(b"foo"));
        assert_ne!(slot(b"{foo"), slot(b"foo"));
        assert_eq!(slot(b"{{foo}}"), slot(b"{foo"), "the first brace opens the tag");
    }

    #[test]
    fn a_command_goes_where_its_first_key_is() {
        let of = |words: &[&str]| {
            let mut command = redis::cmd(words[0]);
            command.arg(&words[1..]);
            slot_of(&command)
        };
        assert_eq!(of(&["GET", "foo"]), Some(12182));
        assert_eq!(of(&["evalsha", "ab", "2", "foo", "bar", "x"]), Some(12182));
        assert_eq!(of(&["EVAL", "return 1", "1", "foo"]), Some(12182));
        assert_eq!(of(&["EVAL", "return 1", "0", "foo"]), None);
        assert_eq!(of(&["INFO", "foo"]), None);
        assert_eq!(of(&["PING"]), None);
    }

    #[test]
    fn the_map_names_masters() {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let node = |host, port| Value::Array(vec![host, Value::Int(port), text("id")]);
        let entry = |first, last, host| {
            Value::Array(vec![
                Value::Int(first),
                Value::Int(last),
                node(host, 7000),
                node(text("replica"), 7001),
            ])
        };
        let from = at("seed", 1);
        let reply = Value::Array(vec![entry(0, 99, text("a")), entry(100, 16383, Value::Nil)]);
        let expected = vec![
            Range { first: 0, last: 99, owner: at("a", 7000) },
            Range { first: 100, last: 16383, owner: at("seed", 7000) },
        ];
        assert_eq!(ranges(&reply, &from).expect("a map"), expected);
        let odd = Value::Array(vec![entry(0, 16384, text("a"))]);
        assert!(ranges(&odd, &from).is_err());
        assert!(ranges(&Value::Nil, &from).is_err());
    }

    #[test]
    fn a_redirection_names_a_node() {
        let from = at("seed", 1);
        let table = [
            ("3999 127.0.0.1:6381", Some(at("127.0.0.1", 6381))),
            ("3999 ::1:6381", Some(at("::1", 6381))),
            ("3999 :6381", Some(at("seed", 6381))),
            ("3999", None),
            ("3999 db:x", None),
        ];
        for (detail, expected) in table {
            assert_eq!(redirected(detail, &from), expected, "{detail}");
        }
    }
}
