//! The public suite on Valkey.

mod shared;

use std::process::ExitCode;

use leasehold_conformance::Orders;
use leasehold_conformance::servers::redis::Product;
use shared::harness::Redis;
use shared::servers::Found;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be built");
    let server = runtime.block_on(Found::of(Product::Valkey));
    let harness = runtime.block_on(Redis::at(server.url())).expect("the server answers");
    let harness = harness
        .with_command("cargo test -p leasehold-redis --all-features --test conformance_valkey");
    leasehold_conformance::main(harness.with_orders(Orders::Some(20)))
}
