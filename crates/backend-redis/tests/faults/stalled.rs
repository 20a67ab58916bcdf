//! A server that is there and does not serve: it loads its data, or a script holds it up.

use futures_util::future::join_all;
use leasehold_conformance::servers::redis::{Connection, Product, RedisOptions, Reply};
use tokio::sync::oneshot;

use crate::shared::{
    BOTH, assert_unavailable, opened, refusals, started, tell, try_open, until_answered, until_true,
};
use crate::stage::{Stage, Verb};

/// Writes enough for a load that can be watched: the server answers after each 1,024 commands.
const FILL: &str = "for n = 1, 40000 do redis.call('INCR', 'filler') end";

#[tokio::test]
async fn a_server_that_loads_its_data_is_unavailable_until_it_has() {
    for product in BOTH {
        loads(product).await;
    }
}

async fn loads(product: Product) {
    // A hidden setting: so many microseconds a command, to be turned off while it loads.
    let options = RedisOptions::new(product).with_arguments(&["--key-load-delay", "200"]);
    let server = started(options).await;
    let store = opened(&server.url()).await;
    let stage = Stage::set(&store, "q", 3).await;
    tell(&server, &["EVAL", FILL, "0"]).await;
    server.kill().expect("it runs");

    let starting = server.start();
    let watching = async {
        // Down first, and loading then.
        until_true("it says that it loads", async || match stage.call(Verb::Get).await {
            Err(error) => error.to_string().contains("still loading its data"),
            Ok(()) => panic!("it did not load"),
        })
        .await;
        // At once, as it answers only now and then.
        for reply in join_all(Verb::all().map(|verb| stage.call(verb))).await {
            assert_unavailable(&reply.expect_err("it loads"), "still loading its data");
        }
        let error = try_open(&server.url()).await.expect_err("it loads");
        assert_unavailable(&error, "still loading its data");
        let mut operator = Connection::open(server.address()).await.expect("it listens");
        let info = operator.ask(&["INFO", "persistence"]).await.expect("it answers").text();
        assert!(info.contains("loading:1"), "{info}");
        let words = ["CONFIG", "SET", "key-load-delay", "0"];
        assert_eq!(operator.ask(&words).await.expect("it answers"), Reply::Simple("OK".into()));
    };
    let (started, ()) = tokio::join!(starting, watching);
    started.unwrap_or_else(|error| panic!("{error}"));
    assert!(refusals(&server, "LOADING").await > 0);
    until_answered("it serves", || stage.call(Verb::Get)).await;
    for verb in Verb::all() {
        stage.call(verb).await.unwrap_or_else(|error| panic!("{verb:?}: {error:?}"));
    }
}

#[tokio::test]
async fn a_server_that_a_script_holds_up_is_unavailable_until_the_script_ends() {
    for product in BOTH {
        let options = RedisOptions::new(product).with_arguments(&["--busy-reply-threshold", "50"]);
        let server = started(options).await;
        let store = opened(&server.url()).await;
        let stage = Stage::set(&store, "q", 3).await;
        let address = server.address();
        let (begun, has_begun) = oneshot::channel();
        let stranger = tokio::spawn(async move {
            let mut stranger = Connection::open(address).await.expect("it listens");
            let _ = begun.send(());
            stranger.ask(&["EVAL", "while true do end", "0"]).await
        });
        has_begun.await.expect("it connects");
        until_true("it is held up", async || match stage.call(Verb::Get).await {
            Err(error) => error.to_string().contains("a script holds the server up"),
            Ok(()) => false,
        })
        .await;
        for verb in Verb::all() {
            let error = stage.call(verb).await.expect_err("it is held up");
            assert_unavailable(&error, "a script holds the server up");
        }
        tell(&server, &["SCRIPT", "KILL"]).await;
        let killed = stranger.await.expect("it was asked").expect("it is answered");
        assert!(matches!(&killed, Reply::Error(text) if text.contains("killed")), "{killed:?}");
        for verb in Verb::all() {
            stage.call(verb).await.unwrap_or_else(|error| panic!("{verb:?}: {error:?}"));
        }
    }
}
