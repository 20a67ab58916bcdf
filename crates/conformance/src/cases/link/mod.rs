//! What a network between a handle and its server may lose (LH-GEN-4): a reply, a request, parts
//! of either, or nothing but time. Each case goes through a gate that loses it at a stated byte,
//! and looks at the truth by a handle that does not.
//!
//! No handle may send again by itself what may have been carried out. The call would then be
//! answered by what it has itself done: an enqueue by Duplicate, a commit by Replayed, a claim by
//! the tasks that the lost one has left. By LH-GEN-1 no order of calls allows such an answer, and
//! by LH-GEN-4 the true one is Unavailable.

mod late;
mod parts;
mod rounds;
mod whole;
mod wire;

pub(crate) use self::late::*;
pub(crate) use self::parts::*;
pub(crate) use self::whole::*;
