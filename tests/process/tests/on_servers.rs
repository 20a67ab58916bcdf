//! The examples on stores that are servers: the same programs, with another URL.

#![cfg(unix)]

use std::path::PathBuf;
use std::process::{Command, Output};

use leasehold_conformance::servers::redis::{
    Cluster, ClusterOptions, Product, Redis, RedisOptions, Sentinels,
};

/// What `swap_backends` says on every store.
const SUMMARY: &str =
    "60 orders, 60 came twice; 183000 charged, 60 letters, 6 tried again, 0 dead\n";

const PASSWORD: &str = "opensesame";

/// A built example of the workspace.
fn example(name: &str) -> Command {
    let test = std::env::current_exe().expect("a test is a file");
    let target = test.parent().and_then(|deps| deps.parent()).expect("it lies in target/*/deps");
    let binary: PathBuf =
        target.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(binary.is_file(), "{} is missing: run scripts/test", binary.display());
    Command::new(binary)
}

fn swapped(url: &str) -> String {
    let ended = example("swap_backends").env("LEASEHOLD_URL", url).output().expect("it starts");
    assert!(ended.status.success(), "{ended:?}");
    let out = text(&ended);
    assert!(out.starts_with("on "), "{out}");
    out.lines().skip(1).map(|line| format!("{line}\n")).collect()
}

fn text(ended: &Output) -> String {
    String::from_utf8_lossy(&[&*ended.stdout, &*ended.stderr].concat()).into_owned()
}

#[tokio::test]
async fn one_program_runs_on_every_server() {
    for product in [Product::Redis, Product::Valkey] {
        let server = Redis::start_new(RedisOptions::new(product)).await.expect("a server");
        for _ in 0..2 {
            assert_eq!(swapped(&server.url()), SUMMARY, "{product:?}");
        }
    }
}

#[tokio::test]
async fn one_program_runs_on_a_cluster() {
    let cluster = Cluster::start_new(ClusterOptions::new(Product::Redis)).await.expect("a cluster");
    let nodes: Vec<_> = cluster.nodes().iter().map(|node| node.address().to_string()).collect();
    assert_eq!(swapped(&format!("redis-cluster://{}", nodes.join(","))), SUMMARY);
}

#[tokio::test]
async fn one_program_runs_behind_sentinels() {
    let group = Sentinels::start_new(Product::Redis).await.expect("sentinels");
    let all: Vec<_> = group.sentinels().iter().map(|one| one.address().to_string()).collect();
    let url = format!("redis-sentinel://{}/{}", all.join(","), Sentinels::SERVICE);
    assert_eq!(swapped(&url), SUMMARY);
}

#[tokio::test]
async fn no_password_is_shown() {
    let options = RedisOptions::new(Product::Redis).with_user("ada", PASSWORD);
    let server = Redis::start_new(options).await.expect("a server");
    assert!(server.url().contains(PASSWORD), "the server wants one: {}", server.url());
    let wrong = server.url().replace(PASSWORD, "hunter2");
    let down = format!("redis://ada:{PASSWORD}@127.0.0.1:1/");
    for url in [server.url(), wrong, down] {
        let ended =
            example("swap_backends").env("LEASEHOLD_URL", &url).output().expect("it starts");
        let told = text(&ended);
        for secret in [PASSWORD, "hunter2"] {
            assert!(!told.contains(secret), "{told}");
        }
        assert_eq!(ended.status.success(), url == server.url(), "{told}");
    }
}

#[tokio::test]
async fn the_quickstart_needs_no_change() {
    let server = Redis::start_new(RedisOptions::new(Product::Redis)).await.expect("a server");
    let folder = tempfile::tempdir().expect("a folder");
    for at in 0..20 {
        let file = folder.path().join(format!("{at}.txt"));
        std::fs::write(file, "a line\n".repeat(at)).expect("it can be written");
    }
    let mut command = example("quickstart");
    command.arg(folder.path()).args(["--url", &server.url()]);
    let ended = command.output().expect("it starts");
    assert!(ended.status.success(), "{ended:?}");
    let told = String::from_utf8_lossy(&ended.stdout);
    let last = told.lines().last().unwrap_or_default();
    assert!(last.starts_with("quickstart: 20 files, 20 succeeded, 0 dead, 20 runs"), "{told}");
}
