//! Wake-ups: before, while and after somebody waits, and over a lost connection.

use std::time::Duration;

use leasehold_core::Wake;
use tokio::time::timeout;

use super::{connect, hasty, send};
use crate::link::Link;
use crate::servers::{SOON, Server, until_true};

const SHORT: Duration = Duration::from_millis(30);

/// A link that has subscribed, and has woken once for that.
async fn listening(url: &str) -> Link {
    let link = connect(url).await;
    assert_eq!(link.wait("c", SOON).await, Wake::Woken);
    link
}

async fn woken(link: &Link) -> bool {
    link.wait("c", SHORT).await == Wake::Woken
}

#[tokio::test]
async fn the_first_wait_wakes_once_as_it_may_have_missed_something() {
    let server = Server::start(&[]);
    let link = listening(&server.url()).await;
    assert_eq!(link.wait("c", SHORT).await, Wake::Elapsed);
    assert_eq!(server.ask(&["PUBSUB", "NUMSUB", "c"]), "c\n1");
}

#[tokio::test]
async fn a_message_wakes_who_waits_and_who_waits_next() {
    let server = Server::start(&[]);
    let link = listening(&server.url()).await;
    for _ in 0..3 {
        assert_eq!(server.ask(&["PUBLISH", "c", ""]), "1");
        assert!(woken(&link).await);
        assert!(!woken(&link).await);

        let wait = async { timeout(SOON, link.wait("c", SOON * 2)).await.expect("it wakes") };
        let publish = async { server.ask(&["PUBLISH", "c", ""]) };
        assert_eq!(tokio::join!(biased; wait, publish), (Wake::Woken, "1".to_owned()));
        assert!(!woken(&link).await);
    }
    server.ask(&["PUBLISH", "d", ""]);
    assert!(!woken(&link).await);
}

#[tokio::test]
async fn a_message_reaches_the_wait_after_one_that_was_dropped() {
    let server = Server::start(&[]);
    let link = listening(&server.url()).await;
    tokio::select! {
        biased;
        wake = link.wait("c", SOON) => panic!("{wake:?}"),
        () = tokio::task::yield_now() => {}
    }
    server.ask(&["PUBLISH", "c", ""]);
    assert!(woken(&link).await);
}

#[tokio::test]
async fn a_lost_connection_wakes_and_its_return_wakes_again() {
    let mut server = Server::start(&[]);
    let link = listening(&server.url()).await;
    let wait = async { timeout(SOON, link.wait("c", SOON * 2)).await.expect("it wakes") };
    let kill = async { server.kill() };
    assert_eq!(tokio::join!(biased; wait, kill).0, Wake::Woken);
    assert_eq!(link.wait("c", SHORT).await, Wake::Elapsed, "once");

    let wait = async { timeout(SOON, link.wait("c", SOON * 2)).await.expect("it wakes") };
    let restart = async { server.restart() };
    assert_eq!(tokio::join!(biased; wait, restart).0, Wake::Woken);
    assert_eq!(server.ask(&["PUBLISH", "c", ""]), "1");
    assert!(woken(&link).await);
}

#[tokio::test]
async fn a_server_that_hangs_wakes_who_waits_once_a_call_has_noticed() {
    let server = Server::start(&[]);
    let link = hasty(&server.url()).await;
    assert_eq!(link.wait("c", SOON).await, Wake::Woken);
    server.freeze();
    let wait = timeout(SOON, link.wait("c", SOON * 2));
    let (wake, call) = tokio::join!(wait, send(&link, &["PING"]));
    assert_eq!(wake.expect("it wakes"), Wake::Woken);
    assert!(call.is_err());
    server.thaw();
    let wait = timeout(SOON, link.wait("c", SOON * 2));
    assert_eq!(wait.await.expect("it wakes"), Wake::Woken, "subscribed again");
    until_true("the old connection is gone", || server.ask(&["PUBSUB", "NUMSUB", "c"]) == "c\n1")
        .await;
}

#[tokio::test]
async fn a_user_without_channels_gets_no_hint() {
    let server = Server::start(&[]);
    server.tell(&["ACL", "SETUSER", "ada", "on", ">pw", "~*", "+@all", "resetchannels"]);
    let link = connect(&format!("redis://ada:pw@{}", server.address())).await;
    let wait = timeout(SOON, link.wait("c", SOON * 2));
    assert_eq!(wait.await.expect("at once"), Wake::NoHint);
}
