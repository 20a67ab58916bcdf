//! Starts Redis and Valkey in containers and runs a command whose tests find them, by
//! `LH_REDIS_URL` and `LH_VALKEY_URL`; it ends as the command does.
//!
//! `leasehold-containers COMMAND [ARGUMENT...]` takes the images from `LH_REDIS_IMAGE` and
//! `LH_VALKEY_IMAGE`, whose tags have to be the versions of the servers in them, and the engine
//! from `DOCKER_HOST`: `scripts/images` sets all three.

mod container;

use std::env;
use std::error::Error;
use std::process::ExitCode;

use container::Container;
use leasehold_conformance::servers::redis::Product;
use tokio::process::Command;

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("leasehold-containers: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let mut words = env::args_os().skip(1);
    let program = words.next().ok_or("there is no command to run")?;
    let redis = start(Product::Redis, "LH_REDIS_IMAGE").await?;
    let valkey = start(Product::Valkey, "LH_VALKEY_IMAGE").await?;
    let mut command = Command::new(&program);
    command.args(words).env("LH_REDIS_URL", redis.url()).env("LH_VALKEY_URL", valkey.url());
    let status = command.status().await;
    if !status.as_ref().is_ok_and(|status| status.success()) {
        for (server, log) in [("redis", redis.log().await), ("valkey", valkey.log().await)] {
            eprintln!("leasehold-containers: what {server} wrote last:\n{}", log?);
        }
    }
    // Before anything else can fail: what stays would hold its port.
    redis.end().await?;
    valkey.end().await?;
    let status = status.map_err(|error| format!("{}: {error}", program.display()))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn start(product: Product, variable: &str) -> Result<Container, Box<dyn Error>> {
    let image = env::var(variable).map_err(|_| format!("{variable} names no image"))?;
    let container = Container::start_new(product, &image).await?;
    eprintln!("leasehold-containers: {image} serves at {}", container.url());
    Ok(container)
}
