//! What the scripts do in situations that no caller can bring about: broken records, indexes that
//! disagree, records of a newer format, budgets of looks.

#[path = "scripts/budgets.rs"]
mod budgets;
#[path = "scripts/mending.rs"]
mod mending;
#[path = "scripts/records.rs"]
mod records;
mod shared;

use leasehold_core::Bounds;
use tokio::sync::OnceCell;

use shared::servers::Found;
use shared::world::World;

static SERVER: OnceCell<Found> = OnceCell::const_new();

async fn url() -> String {
    SERVER.get_or_init(Found::find).await.url()
}

async fn world() -> World {
    World::new(&url().await, "q", Bounds::default()).await
}
