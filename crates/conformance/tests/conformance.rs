//! The suite on the memory backend, the executable specification, with every feature.

#[path = "shared/memory.rs"]
mod memory;

use std::process::ExitCode;

use leasehold_conformance::Orders;
use leasehold_core::Features;

fn main() -> ExitCode {
    leasehold_conformance::main(memory::Memory(Features::all(), Orders::All))
}
