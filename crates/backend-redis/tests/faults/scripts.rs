//! A server that does not know the scripts, at first or any more.

use leasehold_conformance::servers::redis::{Product, RedisOptions};

use crate::callers::Callers;
use crate::shared::{opened, refusals, started, tell, until_answered};
use crate::stage::{Stage, Verb};

#[tokio::test]
async fn every_verb_brings_its_script_along() {
    let server = started(RedisOptions::new(Product::Redis)).await;
    let store = opened(&server.url()).await;
    let stage = Stage::set(&store, "q", 3).await;
    for verb in Verb::all() {
        tell(&server, &["SCRIPT", "FLUSH"]).await;
        let before = refusals(&server, "NOSCRIPT").await;
        stage.call(verb).await.unwrap_or_else(|error| panic!("{verb:?}: {error:?}"));
        assert_eq!(refusals(&server, "NOSCRIPT").await, before + 1, "{verb:?}");
    }
}

#[tokio::test]
async fn a_fresh_server_in_the_place_of_the_old_one_is_served_as_well() {
    let server = started(RedisOptions::new(Product::Redis)).await;
    let store = opened(&server.url()).await;
    let stage = Stage::set(&store, "q", 3).await;
    server.stop().await.unwrap_or_else(|error| panic!("{error}"));
    server.start().await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(refusals(&server, "NOSCRIPT").await, 0);
    until_answered("it is back", || stage.call(Verb::Get)).await;
    for verb in Verb::all() {
        let reply = stage.call(verb).await;
        reply.unwrap_or_else(|error| panic!("{verb:?}: {error:?}"));
    }
    assert!(refusals(&server, "NOSCRIPT").await > 0, "it knew the scripts");
}

#[tokio::test]
async fn nothing_is_lost_or_done_twice_when_scripts_go_amid_concurrent_calls() {
    let server = started(RedisOptions::new(Product::Redis)).await;
    let store = opened(&server.url()).await;
    let callers = Callers::begin(&store, "q", 32, 8).await;
    // At least so many calls must have met a server without their script.
    const MET_MIN: u64 = 200;
    while refusals(&server, "NOSCRIPT").await < MET_MIN {
        tell(&server, &["SCRIPT", "FLUSH"]).await;
    }
    let book = callers.finish().await;
    assert!(book.unavailable.is_empty(), "{:?}", book.unavailable);
    book.assert_exact(&store, "q").await;
}
