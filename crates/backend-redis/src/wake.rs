//! [`Wakes`]: what has been heard on channels, for those who wait and those who will.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// The channels that somebody has waited on, one for each queue at most.
#[derive(Default)]
pub(crate) struct Wakes {
    channels: Mutex<HashMap<String, Arc<Channel>>>,
}

/// One channel's news.
#[derive(Default)]
pub(crate) struct Channel {
    news: watch::Sender<News>,
}

#[derive(Default)]
struct News {
    /// How many messages came; the first confirmation on a connection counts as one, since
    /// others may have come before it and were not heard.
    came: u64,
    /// How many of them have woken somebody.
    handed: u64,
    /// The connection on which the channel is subscribed; 0 is none.
    line: u64,
}

impl Wakes {
    pub(crate) fn channel(&self, name: &str) -> Arc<Channel> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(name) {
            return channel.clone();
        }
        channels.entry(name.to_owned()).or_default().clone()
    }

    /// A message came on a channel.
    pub(crate) fn came(&self, name: &str) {
        self.tell(name, |news| news.came += 1);
    }

    /// The server confirmed that the channel is subscribed on the connection `line`.
    pub(crate) fn subscribed(&self, name: &str, line: u64) {
        self.tell(name, |news| {
            if news.line != line {
                news.came += 1;
                news.line = line;
            }
        });
    }

    fn tell(&self, name: &str, change: impl FnOnce(&mut News)) {
        let channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(channel) = channels.get(name) {
            channel.news.send_modify(change);
        }
    }
}

impl Channel {
    /// Whether the channel is subscribed on this connection.
    pub(crate) fn is_on(&self, line: u64) -> bool {
        self.news.borrow().line == line
    }

    /// What waits from now on.
    pub(crate) fn listen(&self) -> Listening<'_> {
        let handed = self.news.borrow().handed;
        Listening { channel: self, receiver: self.news.subscribe(), handed }
    }
}

/// Somebody who waits on a channel.
pub(crate) struct Listening<'a> {
    channel: &'a Channel,
    receiver: watch::Receiver<News>,
    /// What had woken somebody when this began: a message that wakes another meanwhile wakes
    /// this one too.
    handed: u64,
}

impl Listening<'_> {
    /// Waits for a message that had woken nobody when the waiting began.
    ///
    /// # Cancel safety
    /// Nothing is lost: the message then wakes the next who waits.
    pub(crate) async fn heard(&mut self) {
        let handed = self.handed;
        // The channel outlives those who wait on it.
        let _ = self.receiver.wait_for(|news| news.came > handed).await;
        self.channel.news.send_if_modified(|news| {
            news.handed = news.came;
            false
        });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn heard(channel: &Channel) -> bool {
        channel.listen().heard().now_or_never().is_some()
    }

    #[test]
    fn a_message_between_two_waits_wakes_the_next_once() {
        let wakes = Wakes::default();
        let channel = wakes.channel("a");
        assert!(!heard(&channel));
        wakes.came("a");
        wakes.came("a");
        wakes.came("b");
        assert!(heard(&channel));
        assert!(!heard(&channel));
        assert!(!heard(&wakes.channel("b")), "nobody had waited on it");
    }

    #[test]
    fn a_message_wakes_all_who_wait() {
        let wakes = Wakes::default();
        let channel = wakes.channel("a");
        let (mut one, mut other) = (channel.listen(), channel.listen());
        assert!(one.heard().now_or_never().is_none());
        wakes.came("a");
        assert!(one.heard().now_or_never().is_some());
        assert!(other.heard().now_or_never().is_some());
        assert!(!heard(&channel));
    }

    #[test]
    fn a_new_subscription_counts_as_a_message_once() {
        let wakes = Wakes::default();
        let channel = wakes.channel("a");
        assert!(!channel.is_on(7));
        wakes.subscribed("a", 7);
        assert!(channel.is_on(7) && heard(&channel));
        wakes.subscribed("a", 7);
        assert!(!heard(&channel));
        wakes.subscribed("a", 8);
        assert!(channel.is_on(8) && !channel.is_on(7) && heard(&channel));
    }
}
