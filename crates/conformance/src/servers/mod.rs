//! Private servers for tests: real processes that a test may kill, freeze and start again.
//!
//! A [`Server`] is one process with a folder and ports of its own. It ends with the test that
//! started it, however that test ends: by its drop; by a signal of the system where the test's
//! process is killed; and where the system has no such signal, by the next test process that
//! starts a server.
//!
//! - [`Server`] with its [`Recipe`]: the process, whatever it serves
//! - [`Program`]: where the program of a server is found
//! - [`until`]: a bounded wait for a condition
//! - [`redis`]: Redis and Valkey, alone, as a cluster and behind sentinels (feature `redis`)
//!
//! All waits use tokio's clock and mean real time: a runtime with a paused clock sees them end
//! at once.

mod error;
mod home;
mod leftovers;
mod port;
mod program;
#[cfg(feature = "redis")]
pub mod redis;
mod server;
mod spawn;
mod wait;

pub use error::ServerError;
pub use program::Program;
pub use server::{Place, Recipe, Server, State};
pub use wait::until;
