//! Staged faults of the Redis store, each on servers of its own: what a caller is told, what the
//! store holds afterwards, and that the handle goes on by itself. Each test also shows that its
//! fault has happened.
#![cfg(unix)]

mod callers;
mod cluster;
mod connection;
mod failover;
mod held;
mod ledger;
mod memory;
mod moving;
mod restart;
mod scripts;
mod shared;
mod stage;
mod stalled;
