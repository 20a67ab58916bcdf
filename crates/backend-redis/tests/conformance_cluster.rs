//! The public suite on a Redis Cluster of three masters.

mod shared;

use std::process::ExitCode;

use leasehold_conformance::Orders;
use leasehold_conformance::servers::redis::Product;
use shared::harness::Redis;
use shared::servers::cluster;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be built");
    let (_cluster, url) = runtime.block_on(cluster(Product::Redis));
    let harness = runtime.block_on(Redis::at(url)).expect("the cluster answers");
    let harness = harness
        .with_command("cargo test -p leasehold-redis --all-features --test conformance_cluster");
    leasehold_conformance::main(harness.with_orders(Orders::Some(20)))
}
