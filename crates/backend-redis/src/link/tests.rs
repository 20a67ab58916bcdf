//! The link against real servers.

mod cluster;
mod sentinel;
mod single;
mod wakes;

use std::time::Duration;

use leasehold_core::Error;
use redis::{Cmd, FromRedisValue, Value};

use super::Link;
use crate::config::RedisConfig;
use crate::error::Fault;
use crate::servers::until;

fn config(url: &str) -> RedisConfig {
    RedisConfig::from_url(url).expect("a good URL")
}

async fn connect(url: &str) -> Link {
    Link::connect(&config(url)).await.expect("it connects")
}

/// With a short deadline of a call.
async fn hasty(url: &str) -> Link {
    let config = config(url).with_call_timeout(Duration::from_millis(250));
    Link::connect(&config).await.expect("it connects")
}

async fn refused(url: &str) -> Error {
    Link::connect(&config(url)).await.expect_err("it does not connect")
}

fn command(words: &[&str]) -> Cmd {
    let mut command = redis::cmd(words[0]);
    command.arg(&words[1..]);
    command
}

async fn send(link: &Link, words: &[&str]) -> Result<Value, Fault> {
    link.send(&command(words)).await
}

async fn ask<T: FromRedisValue>(link: &Link, words: &[&str]) -> T {
    let reply = send(link, words).await.unwrap_or_else(|fault| panic!("{words:?}: {fault:?}"));
    redis::from_redis_value(reply).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

/// Sends again and again until it succeeds.
async fn ask_until<T: FromRedisValue>(link: &Link, words: &[&str]) -> T {
    let reply = until(&format!("{words:?}"), || async { send(link, words).await.ok() }).await;
    redis::from_redis_value(reply).unwrap_or_else(|error| panic!("{words:?}: {error}"))
}
