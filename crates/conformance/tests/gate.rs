//! The gate between a client and a server that adds: a line in, the sum out.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use leasehold_conformance::{Gate, Way};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Adds 1 for each whole line, and answers the sum as a line.
async fn server() -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound port");
    let sum = Arc::new(AtomicU64::new(0));
    let shared = sum.clone();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let sum = shared.clone();
            tokio::spawn(async move {
                let (read, mut write) = client.into_split();
                let mut read = BufReader::new(read);
                let mut line = String::new();
                while let Ok(1..) = read.read_line(&mut line).await {
                    if line.ends_with('\n') {
                        let now = sum.fetch_add(1, Ordering::SeqCst) + 1;
                        let _ = write.write_all(format!("{now}\n").as_bytes()).await;
                    }
                    line.clear();
                }
            });
        }
    });
    (address, sum)
}

async fn staged() -> (Gate, TcpStream, Arc<AtomicU64>) {
    let (address, sum) = server().await;
    let gate = Gate::open(address).await.expect("a free port");
    let client = TcpStream::connect(gate.address()).await.expect("the gate listens");
    (gate, client, sum)
}

async fn answer(client: &mut TcpStream) -> Option<u64> {
    let mut line = Vec::new();
    loop {
        match client.read_u8().await {
            Ok(b'\n') => return String::from_utf8(line).ok()?.parse().ok(),
            Ok(byte) => line.push(byte),
            Err(_) => return None,
        }
    }
}

#[tokio::test]
async fn an_open_gate_is_not_noticed() {
    let (gate, mut client, _) = staged().await;
    for want in 1..=3 {
        client.write_all(b"add\n").await.expect("it is open");
        assert_eq!(answer(&mut client).await, Some(want));
    }
    assert_eq!((gate.fired(Way::Requests), gate.fired(Way::Replies)), (0, 0));
    assert_eq!((gate.came(Way::Requests), gate.came(Way::Replies)), (12, 6));
}

#[tokio::test]
async fn a_lost_reply_was_carried_out() {
    let (gate, mut client, sum) = staged().await;
    gate.hold(Way::Replies);
    client.write_all(b"add\n").await.expect("requests pass");
    gate.stopped(Way::Replies).await;
    assert_eq!(sum.load(Ordering::SeqCst), 1);
    gate.cut();
    assert_eq!(answer(&mut client).await, None);
    assert_eq!(gate.fired(Way::Replies), 2);
}

#[tokio::test]
async fn a_lost_request_was_not() {
    let (gate, mut client, sum) = staged().await;
    gate.hold(Way::Requests);
    client.write_all(b"add\n").await.expect("the gate takes it");
    gate.stopped(Way::Requests).await;
    gate.cut();
    assert_eq!(answer(&mut client).await, None);
    // A new connection is served after the cut: had the request slipped through, this were 2.
    let mut client = TcpStream::connect(gate.address()).await.expect("the gate listens");
    client.write_all(b"add\n").await.expect("it is open");
    assert_eq!(answer(&mut client).await, Some(1));
    assert_eq!(sum.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn what_was_held_back_arrives_when_it_is_released() {
    let (gate, mut client, _) = staged().await;
    gate.hold(Way::Requests);
    client.write_all(b"add\n").await.expect("the gate takes it");
    gate.stopped(Way::Requests).await;
    gate.release();
    assert_eq!(answer(&mut client).await, Some(1));
}

#[tokio::test]
async fn a_batch_can_arrive_in_part() {
    let (gate, mut client, sum) = staged().await;
    // One whole line and two bytes of the next.
    gate.cut_after(Way::Requests, 6);
    client.write_all(b"add\nadd\nadd\n").await.expect("the gate takes it");
    gate.stopped(Way::Requests).await;
    assert!(gate.has_stopped(Way::Requests) && !gate.has_stopped(Way::Replies));
    let told = answer(&mut client).await;
    assert!(matches!(told, Some(1) | None), "the answer may be lost with the connection: {told:?}");
    let mut next = TcpStream::connect(gate.address()).await.expect("the gate listens");
    gate.release();
    assert!(!gate.has_stopped(Way::Requests), "it was told anew");
    next.write_all(b"add\n").await.expect("it is open");
    let told = answer(&mut next).await;
    assert!(matches!(told, Some(1 | 2)), "of three lines, one at most has arrived: {told:?}");
    assert!(sum.load(Ordering::SeqCst) <= 2);
}

#[tokio::test]
async fn a_call_can_be_let_through_step_by_step() {
    let (gate, mut client, sum) = staged().await;
    gate.hold(Way::Requests);
    client.write_all(b"add\nadd\n").await.expect("the gate takes it");
    gate.stopped(Way::Requests).await;
    for want in 1..=2 {
        gate.pass(Way::Requests, 3);
        if want == 2 {
            gate.stopped(Way::Requests).await;
        }
        assert_eq!(sum.load(Ordering::SeqCst), want - 1, "three bytes are no line");
        gate.pass(Way::Requests, 1);
        assert_eq!(answer(&mut client).await, Some(want));
    }
}

#[tokio::test]
async fn a_gate_ends_with_its_last_clone() {
    let (gate, mut client, _) = staged().await;
    let address = gate.address();
    let clone = gate.clone();
    drop(gate);
    client.write_all(b"add\n").await.expect("a clone keeps it open");
    assert_eq!(answer(&mut client).await, Some(1));
    drop(clone);
    assert_eq!(answer(&mut client).await, None);
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}
