//! [`Seen`]: a task as its records tell of it, and where it must stand by that.

use std::str;

const RANK: i64 = 281_474_976_710_656;
const NONE: &str = "0000000000000000000";

/// A task: from its birth record, and from its task record where it has one.
#[derive(Debug, Clone)]
pub struct Seen {
    pub id: String,
    pub fence: String,
    pub run: String,
    pub state: char,
    pub ends: i64,
    pub born: String,
    pub due: i64,
    pub rank: i64,
    pub held: Option<i64>,
    pub expires: Option<i64>,
    pub finished: Option<i64>,
    pub has_side: bool,
    pub format: String,
    pub size: String,
    pub kind: String,
    pub limit: Option<String>,
    pub unique: Option<String>,
}

impl Seen {
    pub fn read(id: &str, birth: &[u8], record: Option<&[u8]>) -> Result<Self, String> {
        let born = Self::newborn(id, birth).ok_or("a birth record that cannot be read")?;
        let Some(record) = record else { return Ok(born) };
        let seen = Self::changed(id, record).ok_or("a record that cannot be read")?;
        let same = (&seen.born, &seen.kind, &seen.limit, &seen.unique, &seen.format, &seen.size);
        if same != (&born.born, &born.kind, &born.limit, &born.unique, &born.format, &born.size) {
            return Err(format!("two records that disagree: {seen:?} and {born:?}"));
        }
        Ok(seen)
    }

    fn newborn(id: &str, birth: &[u8]) -> Option<Self> {
        let fields: Vec<_> = birth.splitn(11, |byte| *byte == b'\t').collect();
        let text = |at: usize| fields.get(at).and_then(|field| str::from_utf8(field).ok());
        let size = birth.len().next_power_of_two().trailing_zeros();
        Some(Self {
            id: id.to_owned(),
            fence: text(1)?.to_owned(),
            run: NONE.to_owned(),
            state: 'w',
            ends: 0,
            born: text(1)?.to_owned(),
            due: text(3)?.parse().ok()?,
            rank: text(4)?.parse().ok()?,
            held: None,
            expires: None,
            finished: None,
            has_side: false,
            format: text(0)?.to_owned(),
            size: char::from(b'a' + u8::try_from(size).ok()?).to_string(),
            kind: text(5)?.to_owned(),
            limit: some(text(6)?).and_then(|group| Some(format!("{group}\t{}", text(7)?))),
            unique: some(text(8)?),
        })
    }

    fn changed(id: &str, record: &[u8]) -> Option<Self> {
        let text = str::from_utf8(record).ok()?;
        let fields: Vec<_> = text.split('\t').collect();
        let (head, fields) =
            fields.split_first().filter(|(head, fields)| (head.len(), fields.len()) == (74, 21))?;
        let number = |at: usize| some(fields[at]).map(|text| text.parse().ok());
        let seen = Self {
            id: id.to_owned(),
            fence: head[..19].to_owned(),
            run: head[19..38].to_owned(),
            state: head[38..39].chars().next()?,
            ends: head[40..55].parse().ok()?,
            born: head[55..].to_owned(),
            due: fields[4].parse().ok()?,
            rank: fields[5].parse().ok()?,
            held: number(6).map_or(Some(None), |held| held.map(Some))?,
            finished: number(10).map_or(Some(None), |at| at.map(Some))?,
            expires: number(11).map_or(Some(None), |at| at.map(Some))?,
            has_side: !fields[13].is_empty(),
            format: fields[14].to_owned(),
            size: fields[15].to_owned(),
            kind: fields[16].to_owned(),
            limit: some(fields[17]).map(|group| format!("{group}\t{}", fields[18])),
            unique: some(fields[19]),
        };
        // The mark is what a commit looks at alone.
        (head[39..40] == format!("{:x}", seen.mark())).then_some(seen)
    }

    fn mark(&self) -> u8 {
        u8::from(self.limit.is_some())
            + 2 * u8::from(self.unique.is_some())
            + 4 * u8::from(self.has_side)
            + 8 * u8::from(self.held.is_some())
    }

    pub fn is_leased(&self) -> bool {
        matches!(self.state, 'r' | 'q')
    }

    pub fn is_finished(&self) -> bool {
        self.state != 'w' && !self.is_leased()
    }

    /// What the task is in every index by.
    pub fn in_order(&self) -> String {
        format!("{}{}", self.born, self.id)
    }

    /// What it is in its lane, and among the parked.
    pub fn in_lane(&self) -> String {
        let mark = self.mark() & 3;
        let tail = self.limit.as_ref().map(|limit| format!("\t{limit}")).unwrap_or_default();
        format!("{}{}{}{mark}{}{tail}", self.born, self.format, self.size, self.id)
    }

    pub fn ready(&self) -> i64 {
        self.due.max(self.held.unwrap_or(0))
    }

    /// Its place while it waits and is not parked.
    pub fn lane(&self) -> (String, i64) {
        (format!("wait:{}:{}", self.rank, self.kind), self.ready())
    }

    /// Where it may be parked: behind its limit, or for its format.
    pub fn parked(&self) -> Vec<(String, i64)> {
        let score = self.rank * RANK + self.ready();
        let newer = (self.format != "1").then(|| format!("\t{}", self.format));
        let keys = self.limit.iter().cloned().chain(newer);
        keys.map(|key| (format!("parked:{key}\t{}", self.kind), score)).collect()
    }

    /// Every other place, with its score: key, member, score.
    pub fn others(&self) -> Vec<(String, String, i64)> {
        let place = |key: &str, member: String, score| (key.to_owned(), member, score);
        let mut places = vec![place("all", self.in_order(), 0)];
        if self.is_leased() {
            places.push(place("leased", self.id.clone(), self.ends));
        } else if self.is_finished() {
            let done = match self.state {
                's' => "done:succeeded",
                'c' => "done:cancelled",
                _ => "done:dead",
            };
            places.push(place(done, self.in_order(), 0));
            if let Some(expires) = self.expires {
                places.push(place("expire", self.id.clone(), expires));
            }
        }
        places
    }
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}
