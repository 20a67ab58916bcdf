//! As much of HTTP/1.1 as a test needs: one request a connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// A service that says nothing for so long hangs.
const SILENCE_MAX: Duration = Duration::from_secs(60);

pub struct Request {
    head: String,
    body: String,
}

/// A request whose body the service waits for.
pub struct Waiting {
    stream: BufReader<TcpStream>,
    body: String,
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Request {
    pub fn get(path: &str) -> Self {
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n");
        Self { head, body: String::new() }
    }

    pub fn post(path: &str, json: &str) -> Self {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n",
            json.len()
        );
        Self { head, body: json.to_owned() }
    }

    pub fn send(self, port: u16) -> Answer {
        let mut stream = connect(port);
        let text = format!("{}\r\n{}", self.head, self.body);
        stream.get_mut().write_all(text.as_bytes()).expect("the service reads");
        Answer::read(&mut stream)
    }

    /// Sends the head alone, and waits until the service asks for the body.
    pub fn send_head(self, port: u16) -> Waiting {
        let mut stream = connect(port);
        let text = format!("{}expect: 100-continue\r\n\r\n", self.head);
        stream.get_mut().write_all(text.as_bytes()).expect("the service reads");
        let interim = Answer::read_head(&mut stream);
        assert_eq!(interim.status, 100, "{interim:?}");
        Waiting { stream, body: self.body }
    }
}

impl Waiting {
    pub fn send_body(mut self) -> Answer {
        self.stream.get_mut().write_all(self.body.as_bytes()).expect("the service reads");
        Answer::read(&mut self.stream)
    }
}

impl Answer {
    fn read(stream: &mut BufReader<TcpStream>) -> Self {
        let mut answer = Self::read_head(stream);
        stream.read_to_string(&mut answer.body).expect("the service answers with text");
        answer
    }

    fn read_head(stream: &mut BufReader<TcpStream>) -> Self {
        let mut lines = std::iter::from_fn(|| {
            let mut line = String::new();
            stream.read_line(&mut line).expect("the service answers with text");
            Some(line.trim_end().to_owned()).filter(|line| !line.is_empty())
        });
        let first = lines.next().expect("the connection ended without an answer");
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let headers = lines.filter_map(|line| {
            let (name, value) = line.split_once(": ")?;
            Some((name.to_ascii_lowercase(), value.to_owned()))
        });
        Self {
            status: status.unwrap_or_else(|| panic!("no status line: {first:?}")),
            headers: headers.collect(),
            body: String::new(),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(its, _)| its == name).map(|(_, value)| value.as_str())
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

fn connect(port: u16) -> BufReader<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the service listens");
    stream.set_read_timeout(Some(SILENCE_MAX)).expect("the time is not zero");
    BufReader::new(stream)
}
