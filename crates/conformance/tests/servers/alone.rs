//! One server: its data, its options, and what is done to its process.

use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use leasehold_conformance::servers::{Place, Recipe, Server};

use super::*;

#[tokio::test]
async fn data_outlive_a_kill_and_a_stop() {
    for product in BOTH {
        let server = started(RedisOptions::new(product).with_fsync(Fsync::Always)).await;
        let (address, pid) = (server.address(), server.pid());
        assert_eq!(tell(&server, "SET kept 1").await, "OK");

        server.kill().expect("it runs");
        assert_eq!((server.state(), server.pid()), (State::Down, None));
        TcpStream::connect(address).expect_err("nobody listens");
        server.start().await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(server.address(), address);
        assert_ne!(server.pid(), pid);
        assert_eq!(tell(&server, "GET kept").await, "1");

        assert_eq!(tell(&server, "INCR kept").await, "2");
        server.stop().await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(server.state(), State::Down);
        // A process that was killed says nothing of this.
        assert!(server.log().contains("ready to exit, bye bye"), "{}", server.log());
        server.start().await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(tell(&server, "GET kept").await, "2");
    }
}

#[tokio::test]
async fn a_frozen_server_keeps_silent_until_it_thaws() {
    let server = started(RedisOptions::new(Product::Redis)).await;
    server.freeze().expect("it runs");
    assert_eq!(server.state(), State::Frozen);
    let silence = server.command_within(Duration::from_millis(200), &["PING"]).await;
    let silence = silence.expect_err("it stands still").to_string();
    assert!(silence.ends_with("no reply within 200ms"), "{silence}");

    server.thaw().expect("it is frozen");
    assert_eq!(server.state(), State::Running);
    assert_eq!(tell(&server, "PING").await, "PONG");

    // Neither end depends on what a frozen process does.
    server.freeze().expect("it runs");
    server.stop().await.unwrap_or_else(|error| panic!("{error}"));
    server.start().await.unwrap_or_else(|error| panic!("{error}"));
    server.freeze().expect("it runs");
    server.kill().expect("it runs");
    assert_eq!(server.state(), State::Down);
    server.freeze().expect_err("it is down");
    server.thaw().expect("there is nothing to thaw");
}

#[tokio::test]
async fn a_server_that_ends_by_itself_is_down() {
    let server = started(RedisOptions::new(Product::Redis)).await;
    server.start().await.expect_err("it runs already");
    let pid = server.pid();
    server.command(&["SHUTDOWN", "NOSAVE"]).await.expect_err("it has no reply");
    let down = until("it is down", LIMIT, || async {
        if server.state() == State::Down { Ok(()) } else { Err("it runs".to_owned()) }
    });
    down.await.expect("it was told to end");
    assert_eq!(server.pid(), None);
    server.start().await.unwrap_or_else(|error| panic!("{error}"));
    assert_ne!(server.pid(), pid);
}

#[tokio::test]
async fn an_error_of_the_start_quotes_the_log() {
    let options = RedisOptions::new(Product::Redis).with_arguments(&["--no-such-setting", "1"]);
    let error = Redis::start_new(options).await.expect_err("it refuses such words").to_string();
    assert!(error.contains("has ended by itself; its log ends:"), "{error}");
    assert!(error.contains("no-such-setting"), "{error}");
}

#[tokio::test]
async fn options_reach_the_server() {
    for product in BOTH {
        let options = RedisOptions::new(product)
            .with_memory(50 << 20, "allkeys-lru")
            .with_fsync(Fsync::Always)
            .with_user("lea", "p:w/d@")
            .with_arguments(&["--databases", "3"]);
        let server = started(options).await;
        let program = format!("{} ", product.name());
        assert!(server.version().await.expect("it serves").starts_with(&program));
        for (name, value) in [
            ("maxmemory", "52428800"),
            ("maxmemory-policy", "allkeys-lru"),
            ("appendonly", "yes"),
            ("appendfsync", "always"),
            ("save", ""),
            ("databases", "3"),
        ] {
            let reply = server.command(&["CONFIG", "GET", name]).await.expect("it serves");
            let pair = [name, value].map(|text| Reply::Bulk(text.into()));
            assert_eq!(reply.items(), pair);
        }
        assert_eq!(tell(&server, "ACL WHOAMI").await, "lea");
        let port = server.address().port();
        assert_eq!(server.url(), format!("redis://lea:p%3Aw%2Fd%40@127.0.0.1:{port}/"));
    }
}

#[tokio::test]
async fn who_does_not_log_in_is_refused() {
    let server = started(RedisOptions::new(Product::Redis).with_user("lea", "secret")).await;
    let mut stranger = Connection::open(server.address()).await.expect("it listens");
    let reply = stranger.ask(&["PING"]).await.expect("it answers");
    assert!(reply.text().starts_with("NOAUTH"), "{reply:?}");
    assert_eq!(server.command(&["PING"]).await.expect("logged in").text(), "PONG");

    // A password that nobody has told us does not keep a server from being ready.
    let options = RedisOptions::new(Product::Redis).with_arguments(&["--requirepass", "secret"]);
    let server = started(options).await;
    assert!(refused(&server, "PING").await.contains("NOAUTH"));
}

async fn number(server: &Redis, field: &str) -> u64 {
    let text = server.info("replication", field).await.unwrap_or_else(|error| panic!("{error}"));
    text.parse().expect("it is a number")
}

#[tokio::test]
async fn a_replica_has_what_its_master_has() {
    let master = started(RedisOptions::new(Product::Redis)).await;
    tell(&master, "SET kept 1").await;
    let options = RedisOptions::new(Product::Redis).with_replica_of(master.address());
    let replica = started(options).await;
    let end = number(&master, "master_repl_offset").await;
    replica.in_sync().await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(tell(&replica, "GET kept").await, "1");
    // It has also seen some of the stream, which a master may keep back from a new replica.
    assert!(number(&replica, "slave_repl_offset").await > end);

    // A new link begins from the start, whatever the old one had come to.
    master.kill().expect("it runs");
    master.start().await.unwrap_or_else(|error| panic!("{error}"));
    replica.in_sync().await.unwrap_or_else(|error| panic!("{error}"));
    let link = replica.info("replication", "master_link_status").await;
    assert_eq!(link.expect("it runs"), "up");
    assert!(refused(&replica, "SET kept 2").await.contains("READONLY"));
}

#[tokio::test]
async fn a_taken_port_is_not_taken_for_a_server() {
    let first = started(RedisOptions::new(Product::Redis)).await;
    // The second finds the first on the port that it is told to serve at.
    let port = first.address().port().to_string();
    let options = RedisOptions::new(Product::Redis).with_arguments(&["--port", &port]);
    let error = Redis::start_new(options).await.expect_err("the port is taken").to_string();
    assert!(error.to_lowercase().contains("address already in use"), "{error}");
    assert_eq!(tell(&first, "PING").await, "PONG");
}

#[tokio::test]
async fn a_port_that_was_taken_in_between_is_replaced() {
    // Somebody else listens on the first port once it was found free.
    let taken = Arc::new(Mutex::new(None));
    let took = taken.clone();
    let arguments = move |place: &Place| {
        let mut taken = took.lock().expect("no start has failed here");
        if taken.is_none() {
            *taken = Some(TcpListener::bind(place.address())?);
        }
        let port = place.address().port().to_string();
        Ok(["--bind", "127.0.0.1", "--port", &port, "--save", ""].map(str::to_owned).into())
    };
    let ready = |place: &Place, _| -> BoxFuture<'static, _> {
        let address = place.address();
        let asking = async move { Connection::open(address).await?.ask(&["PING"]).await };
        Box::pin(async move {
            let limited = tokio::time::timeout(Duration::from_millis(200), asking).await;
            let reply = limited.map_err(|error| error.to_string())?;
            reply.map(drop).map_err(|error| error.to_string())
        })
    };
    let program = Product::Redis.program().find().unwrap_or_else(|error| panic!("{error}"));
    let server = Server::create(Recipe::new("second", program, arguments, ready)).await;
    let server = server.unwrap_or_else(|error| panic!("{error}"));
    let taken = taken.lock().expect("no start has failed here");
    let taken = taken.as_ref().map(|listener| listener.local_addr().expect("it is bound"));
    assert_ne!(taken.expect("the first start took it"), server.address());
    assert_eq!(server.state(), State::Running);
}

#[tokio::test]
async fn a_found_server_can_be_reached() {
    // Whoever sets the variable means a server that is there.
    let found = Found::find(Product::Redis).await.unwrap_or_else(|error| panic!("{error}"));
    match &found {
        Found::Given(url) => assert_eq!(Some(url), std::env::var("LH_REDIS_URL").ok().as_ref()),
        Found::Private(server) => {
            assert_eq!(found.url(), server.url());
            assert_eq!(tell(server, "PING").await, "PONG");
        }
    }
}
