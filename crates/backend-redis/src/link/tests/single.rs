//! One server: replies, deadlines, losses and the way back.

use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::future::join_all;
use leasehold_conformance::{Gate, Way};
use leasehold_core::ErrorKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::{ask, ask_until, config, connect, hasty, refused, send};
use crate::error::Fault;
use crate::link::Link;
use crate::link::node::State;
use crate::servers::{SOON, Server, free_port, until, until_true};

/// Long enough for anything that needs no patience.
const AT_ONCE: Duration = Duration::from_millis(500);

#[tokio::test]
async fn a_reply_is_a_value_and_an_error_has_its_code() {
    let server = Server::start(&[]);
    let link = connect(&format!("{}/3", server.url())).await;
    let () = ask(&link, &["SET", "a", "x"]).await;
    assert_eq!(server.ask(&["-n", "3", "GET", "a"]), "x");

    let unknown = "0123456789012345678901234567890123456789";
    let table: [(&[&str], &str); 4] = [
        (&["EVALSHA", unknown, "1", "a"], "NOSCRIPT"),
        (&["EVAL", "return redis.error_reply('LH_STALE 7')", "1", "a"], "LH_STALE"),
        (&["EVAL", "return {1, redis.error_reply('LH_INNER 7')}", "1", "a"], "LH_INNER"),
        (&["LPUSH", "a", "x"], "WRONGTYPE"),
    ];
    for (words, code) in table {
        let fault = send(&link, words).await.expect_err(code);
        assert_eq!(fault.code(), Some(code), "{fault:?}");
    }
    let fault = send(&link, table[1].0).await.expect_err("refused");
    assert_eq!(fault.detail(), Some("7"));
    assert_eq!(ask::<String>(&link, &["GET", "a"]).await, "x");
}

#[tokio::test]
async fn a_frozen_server_holds_nobody_longer_than_the_deadline() {
    let server = Server::start(&[]);
    let link = hasty(&server.url()).await;
    server.freeze();
    let calls = join_all((0..100).map(|_| send(&link, &["INCR", "a"])));
    for fault in timeout(Duration::from_secs(2), calls).await.expect("in time") {
        assert!(matches!(fault, Err(Fault::Late(_) | Fault::Down(_))), "{fault:?}");
    }
    server.thaw();
    assert_eq!(ask_until::<String>(&link, &["ECHO", "back"]).await, "back");
}

#[tokio::test]
async fn calls_fail_at_once_while_the_server_is_down_and_the_link_comes_back_by_itself() {
    let mut server = Server::start(&[]);
    let link = connect(&server.url()).await;
    let node = link.masters().remove(0);
    let mut states = node.states();
    server.kill();
    let down = states.wait_for(|state| matches!(state, State::Down(_)));
    drop(timeout(SOON, down).await.expect("soon").expect("the node is there"));

    let calls = join_all((0..100).map(|_| send(&link, &["INCR", "a"])));
    for fault in timeout(AT_ONCE, calls).await.expect("at once") {
        assert!(matches!(fault, Err(Fault::Down(_))), "{fault:?}");
    }
    server.restart();
    let up = states.wait_for(|state| matches!(state, State::Up(_)));
    drop(timeout(SOON, up).await.expect("soon").expect("the node is there"));
    assert_eq!(ask::<u64>(&link, &["INCR", "a"]).await, 1, "nothing was sent meanwhile");
}

#[tokio::test]
async fn a_command_whose_reply_was_lost_is_not_sent_again() {
    let server = Server::start(&[]);
    let gate = Gate::open(server.address()).await.expect("a gate");
    let link = connect(&format!("redis://{}", gate.address())).await;
    gate.hold(Way::Replies);
    let call = async {
        let reply = send(&link, &["INCR", "a"]).await;
        assert!(matches!(reply, Err(Fault::Lost(_))), "{reply:?}");
    };
    let cut = async {
        gate.stopped(Way::Replies).await;
        gate.cut();
    };
    tokio::join!(call, cut);
    assert_eq!(ask_until::<u64>(&link, &["GET", "a"]).await, 1);
    assert_eq!(server.ask(&["GET", "a"]), "1");
}

#[tokio::test]
async fn a_command_that_was_lost_on_its_way_is_not_sent_again_either() {
    let server = Server::start(&[]);
    let gate = Gate::open(server.address()).await.expect("a gate");
    let link = connect(&format!("redis://{}", gate.address())).await;
    gate.hold(Way::Requests);
    let call = async {
        let reply = send(&link, &["INCR", "a"]).await;
        assert!(matches!(reply, Err(Fault::Lost(_))), "{reply:?}");
    };
    let cut = async {
        gate.stopped(Way::Requests).await;
        gate.cut();
    };
    tokio::join!(call, cut);
    assert_eq!(ask_until::<u64>(&link, &["INCR", "b"]).await, 1);
    assert_eq!(server.ask(&["EXISTS", "a"]), "0");
}

#[tokio::test]
async fn a_late_reply_condemns_the_connection_and_reaches_nobody_else() {
    let server = Server::start(&[]);
    let gate = Gate::open(server.address()).await.expect("a gate");
    let link = hasty(&format!("redis://{}", gate.address())).await;
    let before = link.masters()[0].line().await.expect("up").id;
    gate.hold(Way::Replies);
    let reply = send(&link, &["ECHO", "late"]).await;
    assert!(matches!(reply, Err(Fault::Late(_))), "{reply:?}");
    gate.release();
    assert_eq!(ask_until::<String>(&link, &["ECHO", "next"]).await, "next");
    assert_ne!(link.masters()[0].line().await.expect("up").id, before);
}

#[tokio::test]
async fn a_dropped_call_leaves_the_connection_to_the_others() {
    let server = Server::start(&[]);
    let gate = Gate::open(server.address()).await.expect("a gate");
    let link = connect(&format!("redis://{}", gate.address())).await;
    let before = link.masters()[0].line().await.expect("up").id;
    gate.hold(Way::Replies);
    tokio::select! {
        reply = send(&link, &["ECHO", "dropped"]) => panic!("answered: {reply:?}"),
        () = gate.stopped(Way::Replies) => {}
    }
    let others = join_all(["a", "b", "c"].map(|word| {
        let link = link.clone();
        async move { ask::<String>(&link, &["ECHO", word]).await }
    }));
    gate.release();
    assert_eq!(others.await, ["a", "b", "c"]);
    assert_eq!(link.masters()[0].line().await.expect("up").id, before);
}

#[tokio::test]
async fn a_demoted_server_is_left_until_it_leads_again() {
    let (server, other) = (Server::start(&[]), Server::start(&[]));
    let link = connect(&server.url()).await;
    let () = ask(&link, &["SET", "a", "1"]).await;
    server.tell(&["REPLICAOF", "127.0.0.1", &other.port.to_string()]);
    let fault = send(&link, &["SET", "a", "2"]).await.expect_err("a replica");
    assert_eq!(fault.code(), Some("READONLY"));
    // Not even reads: a replica lags behind.
    let fault = send(&link, &["GET", "a"]).await.expect_err("a replica");
    assert!(matches!(&fault, Fault::Down(why) if why.contains("replica")), "{fault:?}");
    server.tell(&["REPLICAOF", "NO", "ONE"]);
    let () = ask_until(&link, &["SET", "a", "3"]).await;
    assert_eq!(server.ask(&["GET", "a"]), "3");
}

#[tokio::test]
async fn a_refused_login_is_a_wrong_setting_and_is_not_shown() {
    let server = Server::start(&["--requirepass", "right"]);
    let at = server.address();
    for url in [format!("redis://{at}"), format!("redis://ada:hunter2@{at}")] {
        let error = refused(&url).await;
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
        assert!(error.to_string().contains("password"), "{error}");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }
    let link = connect(&format!("redis://:right@{at}")).await;
    assert_eq!(ask::<String>(&link, &["PING"]).await, "PONG");
}

#[tokio::test]
async fn a_server_may_refuse_the_connection() {
    let server = Server::start(&["--maxclients", "1"]);
    let error = refused(&format!("{}/16", server.url())).await;
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
    assert!(error.to_string().contains("database"), "{error}");

    // The connection that was refused may still be counted.
    let link =
        until("there is room", || async { Link::connect(&config(&server.url())).await.ok() }).await;
    let error = refused(&server.url()).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert!(error.to_string().contains("max number of clients"), "{error}");
    drop(link);
}

#[tokio::test]
async fn a_server_without_hello_is_too_old() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port");
    let url = format!("redis://{}", listener.local_addr().expect("its address"));
    let old = async {
        let (mut client, _) = listener.accept().await.expect("a client");
        let mut request = [0; 512];
        let read = client.read(&mut request).await.expect("a request");
        assert!(read > 0);
        let reply = b"-ERR unknown command `HELLO`, with args beginning with: `3`, \r\n";
        client.write_all(reply).await.expect("it is sent");
        client
    };
    let (error, _client) = tokio::join!(refused(&url), old);
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
    assert!(error.to_string().contains("6.2"), "{error}");
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn a_server_without_tls_is_unavailable_by_tls() {
    let server = Server::start(&[]);
    let error = refused(&format!("rediss://{}", server.address())).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
}

#[tokio::test]
async fn nobody_there_is_unavailable() {
    let error = refused(&format!("redis://127.0.0.1:{}", free_port())).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert!(error.to_string().contains("127.0.0.1"), "{error}");
}

#[tokio::test]
async fn a_server_of_another_form_is_refused_with_the_right_one() {
    let node =
        Server::start(&["--cluster-enabled", "yes", "--cluster-port", &free_port().to_string()]);
    let error = refused(&node.url()).await;
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
    assert!(error.to_string().contains("redis-cluster:"), "{error}");

    let server = Server::start(&[]);
    let error = refused(&format!("redis-cluster://{}", server.address())).await;
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
    assert!(error.to_string().contains("write redis:"), "{error}");

    let sentinel = Server::sentinel(&server);
    let error = refused(&sentinel.url()).await;
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error:?}");
    assert!(error.to_string().contains("redis-sentinel:"), "{error}");
}

#[test]
fn a_link_whose_runtime_has_ended_says_so() {
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().expect("a runtime")
    };
    let server = Server::start(&[]);
    let opened = runtime();
    let link = opened.block_on(connect(&server.url()));
    drop(opened);
    runtime().block_on(async {
        let mut faults = Vec::new();
        for _ in 0..2 {
            let call = timeout(AT_ONCE, send(&link, &["PING"]));
            faults.push(call.await.expect("at once").expect_err("no runtime"));
        }
        assert!(matches!(&faults[1], Fault::Down(why) if why.contains("runtime")), "{faults:?}");
    });
}

#[tokio::test]
async fn a_dropped_link_closes_its_connection() {
    let server = Server::start(&[]);
    let link = connect(&server.url()).await;
    let clients = || server.ask(&["CLIENT", "LIST", "TYPE", "normal"]).lines().count();
    assert_eq!(clients(), 2, "the link's and the operator's");
    drop(link);
    // Lets the tasks of the link end.
    tokio::task::yield_now().await;
    until_true("it is closed", || clients() == 1).await;
}
