//! The public suite on Redis.
//!
//! `LH_REPORT=path.json cargo test -p leasehold-redis --all-features --test conformance` writes
//! what it proved.

mod shared;

use std::process::ExitCode;

use leasehold_conformance::Orders;
use shared::harness::Redis;
use shared::servers::Found;

fn main() -> ExitCode {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime can be built");
    let server = runtime.block_on(Found::find());
    let harness = runtime.block_on(Redis::at(server.url())).expect("the server answers");
    leasehold_conformance::main(harness.with_orders(Orders::Some(25)))
}
