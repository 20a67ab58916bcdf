//! The cases, one file a family.

pub mod budget;
pub mod commit;
pub mod dead;
pub mod follow;
pub mod give;
pub mod held;
pub mod lapse;
pub mod late;
pub mod limit;
pub mod mode;
pub mod oper;
pub mod purge;
pub mod race;
pub mod refuses;
pub mod renew;
pub mod replay;
pub mod retry;
pub mod uniq;
