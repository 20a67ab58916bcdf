//! [`Connection`]: as much of the protocol of Redis as setting servers up takes, so that the
//! suite needs none of the clients that it tests.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// What a server answers (RESP2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// A word, such as OK.
    Simple(String),
    /// A refusal, with its code first.
    Error(String),
    /// A number.
    Integer(i64),
    /// Bytes.
    Bulk(Vec<u8>),
    /// Nothing: a key that is not there.
    Nil,
    /// Several replies.
    Array(Vec<Reply>),
}

impl Reply {
    /// What people read of it: a word, a refusal, a number or bytes; empty for the others.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Simple(text) | Self::Error(text) => text.clone(),
            Self::Integer(number) => number.to_string(),
            Self::Bulk(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Self::Nil | Self::Array(_) => String::new(),
        }
    }

    /// The replies within it; none where it is not several.
    #[must_use]
    pub fn items(&self) -> &[Reply] {
        if let Self::Array(items) = self { items } else { &[] }
    }
}

/// A connection that asks one thing at a time.
#[derive(Debug)]
pub struct Connection(BufReader<TcpStream>);

impl Connection {
    /// A connection to the server at `address`.
    ///
    /// # Errors
    /// When nobody listens there.
    pub async fn open(address: SocketAddr) -> io::Result<Self> {
        Ok(Self(BufReader::new(TcpStream::connect(address).await?)))
    }

    /// Sends a command and waits for its reply, for as long as that takes. A refusal is a reply.
    ///
    /// # Errors
    /// When the connection ends, or what comes is no reply.
    ///
    /// # Cancel safety
    /// The command may have been carried out, and the connection must not be used again.
    pub async fn ask(&mut self, words: &[impl AsRef<[u8]>]) -> io::Result<Reply> {
        let mut request = format!("*{}\r\n", words.len()).into_bytes();
        for word in words.iter().map(AsRef::as_ref) {
            request.extend(format!("${}\r\n", word.len()).bytes());
            request.extend(word);
            request.extend(b"\r\n");
        }
        self.0.write_all(&request).await?;
        self.reply().await
    }

    fn reply(&mut self) -> Pin<Box<dyn Future<Output = io::Result<Reply>> + Send + '_>> {
        Box::pin(async move {
            let mut line = String::new();
            if self.0.read_line(&mut line).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let strange = || io::Error::other(format!("not a reply: {line:?}"));
            let rest = line.get(1..).ok_or_else(strange)?.trim_end();
            let number = || rest.parse::<i64>().map_err(|_| strange());
            match line.as_bytes()[0] {
                b'+' => Ok(Reply::Simple(rest.to_owned())),
                b'-' => Ok(Reply::Error(rest.to_owned())),
                b':' => Ok(Reply::Integer(number()?)),
                b'$' | b'*' if number()? < 0 => Ok(Reply::Nil),
                b'$' => {
                    let length = usize::try_from(number()?).map_err(|_| strange())?;
                    let mut bytes = vec![0; length + 2];
                    self.0.read_exact(&mut bytes).await?;
                    bytes.truncate(length);
                    Ok(Reply::Bulk(bytes))
                }
                b'*' => {
                    let mut items = Vec::new();
                    for _ in 0..number()? {
                        items.push(self.reply().await?);
                    }
                    Ok(Reply::Array(items))
                }
                _ => Err(strange()),
            }
        })
    }
}
