//! [`Seen`]: a cluster's members as one of them sees them.

use std::ops::RangeInclusive;

/// A line of the command CLUSTER NODES.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) id: String,
    pub(super) port: u16,
    flags: String,
    /// The id of the master whose replica it is.
    pub(super) master: Option<String>,
    pub(super) hash_slots: Vec<RangeInclusive<u16>>,
}

impl Seen {
    /// All lines, or the one that cannot be read.
    pub(super) fn all(text: &str) -> Result<Vec<Self>, String> {
        text.lines()
            .map(|line| Self::read(line).ok_or_else(|| format!("strange: {line}")))
            .collect()
    }

    /// `id host:port@port flags master ping pong epoch link hash-slots...`
    fn read(line: &str) -> Option<Self> {
        let words: Vec<_> = line.split(' ').collect();
        let (&[id, address, flags, master, ..], slots) = words.split_at_checked(8)? else {
            return None;
        };
        let port = address.split('@').next()?.rsplit(':').next()?.parse().ok()?;
        // What is in brackets is on its way, and still where it was.
        let slots = slots.iter().filter(|word| !word.starts_with('['));
        Some(Self {
            id: id.to_owned(),
            port,
            flags: flags.to_owned(),
            master: (master != "-").then(|| master.to_owned()),
            hash_slots: slots.map(|word| range(word)).collect::<Option<_>>()?,
        })
    }

    pub(super) fn is(&self, flag: &str) -> bool {
        self.flags.split(',').any(|have| have == flag)
    }

    pub(super) fn has(&self, hash_slot: u16) -> bool {
        self.hash_slots.iter().any(|range| range.contains(&hash_slot))
    }
}

fn range(word: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = word.split_once('-').unwrap_or((word, word));
    Some(first.parse().ok()?..=last.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_read() {
        let text = "aa 127.0.0.1:20001@20002,host myself,master - 0 17 3 connected 0-99 205 [93->-bb]\n\
                    bb 127.0.0.1:20003@20004 slave,fail? aa 0 17 3 connected\n";
        let [master, replica] = &Seen::all(text).expect("two lines")[..] else { panic!("two") };
        assert_eq!((&*master.id, master.port, &master.master), ("aa", 20_001, &None));
        let has = [0, 99, 100, 204, 205, 206].map(|hash_slot| master.has(hash_slot));
        assert_eq!(has, [true, true, false, false, true, false]);
        assert!(master.is("myself") && master.is("master") && !master.is("mast"));
        assert_eq!((&*replica.id, replica.master.as_deref()), ("bb", Some("aa")));
        assert!(replica.is("fail?") && !replica.is("fail"));
        assert_eq!(replica.hash_slots, []);
    }

    #[test]
    fn what_is_no_member_is_told() {
        for line in ["", "aa 127.0.0.1:1@2 master - 0 17 3", "aa host master - 0 17 3 connected"] {
            assert_eq!(Seen::all(&format!("{line}\n")), Err(format!("strange: {line}")));
        }
    }
}
