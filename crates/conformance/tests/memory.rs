//! The suite on the memory backend without any feature, where each must be refused, as one test
//! a case; with every feature it is `tests/conformance.rs`.

#[path = "shared/memory.rs"]
mod memory;

use leasehold_conformance::Orders;
use leasehold_core::Features;
use memory::Memory;

leasehold_conformance::suite!(Memory(Features::empty(), Orders::Some(20)));
