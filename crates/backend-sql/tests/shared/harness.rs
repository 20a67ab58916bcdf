//! The harness of the SQLite store: each case in a file of its own.

#[path = "residue.rs"]
mod residue;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use leasehold_conformance::{
    Case, Faults, Harness, HarnessError, Lasting, Link, PlantedIndex, PlantedRecord, Profile, World,
};
use leasehold_core::{Backend, Features, LimitKey, ManualClock, TaskRef};
use leasehold_sql::{SqliteBackend, SqliteConfig, Synchronous};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};
use tempfile::TempDir;

/// The row of one task.
const WHERE: &str = "where id = ?1 and queue = (select queue from queue where name = ?2)";

/// The store as the public suite runs it.
pub struct Sqlite;

#[async_trait]
impl Harness for Sqlite {
    fn profile(&self) -> Profile {
        Profile::new("sqlite", Features::all())
            .with_version(env!("CARGO_PKG_VERSION"))
            .with_durability("write-ahead log, synchronous = normal")
            .with_command("cargo test -p leasehold-sql --all-features --test conformance")
    }

    async fn world(&self, case: &Case) -> Result<Box<dyn World>, HarnessError> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("tasks.db");
        let hand = ManualClock::default();
        let clock = case.needs.clock.of(&hand);
        let world = SqliteWorld { path, hand, clock, _folder: folder };
        // Once, so that the file is there even if a case plants faults before it opens it.
        world.open(Link::Direct).await?;
        Ok(Box::new(world))
    }
}

struct SqliteWorld {
    path: PathBuf,
    hand: ManualClock,
    clock: leasehold_core::Clock,
    _folder: TempDir,
}

impl SqliteWorld {
    /// Around the backend, straight to the file.
    async fn raw(&self) -> Result<SqliteConnection, HarnessError> {
        Ok(SqliteConnectOptions::new().filename(&self.path).connect().await?)
    }
}

#[async_trait]
impl World for SqliteWorld {
    async fn open(&self, link: Link) -> Result<Arc<dyn Backend>, HarnessError> {
        let Link::Direct = link else {
            return Err(format!("there is no {link:?} link to a file").into());
        };
        let config = SqliteConfig::new(&self.path)
            .with_synchronous(Synchronous::Normal)
            .with_readers(1)
            .with_clock(self.clock.clone());
        Ok(Arc::new(SqliteBackend::connect(config).await?))
    }

    async fn shift(&self, by_ms: i64) -> Result<(), HarnessError> {
        self.hand.shift(by_ms);
        Ok(())
    }

    fn faults(&self) -> Option<&dyn Faults> {
        Some(self)
    }

    async fn dump(&self, task: &TaskRef) -> Option<String> {
        let columns = "select group_concat('''' || name || ' = '' || quote(' || name || ')', ' || char(10) || ')
                       from pragma_table_info('task')";
        let mut raw = self.raw().await.ok()?;
        let columns: String = sqlx::query_scalar(columns).fetch_one(&mut raw).await.ok()?;
        let row = format!("select {columns} from task {WHERE}");
        let row = sqlx::query_scalar(sqlx::AssertSqlSafe(row)).bind(&task.id).bind(&task.queue);
        row.fetch_optional(&mut raw).await.ok()?
    }

    async fn residue(&self) -> Result<Vec<String>, HarnessError> {
        Ok(residue::residue(&mut self.raw().await?, self.clock.now().as_millis()).await)
    }
}

#[async_trait]
impl Faults for SqliteWorld {
    async fn plant(&self, task: &TaskRef, planted: PlantedRecord) -> Result<(), HarnessError> {
        let plant = match planted {
            PlantedRecord::Broken(raw) => {
                // As text of any bytes: a cast does not check them.
                let sql = format!("update task set terms = cast(?3 as text) {WHERE}");
                sqlx::query(sqlx::AssertSqlSafe(sql)).bind(&task.id).bind(&task.queue).bind(raw)
            }
            PlantedRecord::Newer => {
                let sql = format!("update task set format = 1000000 {WHERE}");
                sqlx::query(sqlx::AssertSqlSafe(sql)).bind(&task.id).bind(&task.queue)
            }
            other => return Err(format!("{other:?} cannot be planted").into()),
        };
        match plant.execute(&mut self.raw().await?).await?.rows_affected() {
            1 => Ok(()),
            _ => Err("no such task".into()),
        }
    }

    async fn plant_slot(&self, queue: &str, key: &LimitKey) -> Result<(), HarnessError> {
        let until = self.clock.now().after(Duration::from_secs(24 * 60 * 60));
        let plant = sqlx::query(
            "insert into slot (queue, limit_group, limit_key, id, fence, until)
             select queue, ?2, ?3, 'nobody', 0, ?4 from queue where name = ?1",
        );
        let plant = plant.bind(queue).bind(&key.group).bind(&key.key).bind(until.as_millis());
        match plant.execute(&mut self.raw().await?).await?.rows_affected() {
            1 => Ok(()),
            _ => Err("no such queue".into()),
        }
    }

    /// SQLite derives each index from the row itself, in the step that writes the row.
    async fn plant_index(
        &self,
        _task: &TaskRef,
        _planted: PlantedIndex,
    ) -> Result<Option<()>, HarnessError> {
        Ok(None)
    }

    async fn raise_fence(&self, _queue: &str, value: u64) -> Result<(), HarnessError> {
        let last = i64::try_from(value.saturating_sub(1))?;
        let raise = sqlx::query("update fence set value = max(value, ?1)").bind(last);
        raise.execute(&mut self.raw().await?).await?;
        Ok(())
    }

    async fn hold(&self, _task: &TaskRef) -> Result<Option<Box<dyn Lasting>>, HarnessError> {
        let mut raw = self.raw().await?;
        sqlx::query("begin immediate").execute(&mut raw).await?;
        Ok(Some(Box::new(Until { raw, sql: "rollback" })))
    }

    async fn refuse(&self, task: &TaskRef) -> Result<Option<Box<dyn Lasting>>, HarnessError> {
        let mut raw = self.raw().await?;
        let id = task.id.replace('\'', "''");
        let plant = format!(
            "create trigger refuse_new after insert on task when new.id = '{id}' begin
                select raise(abort, 'refused by a case'); end;
             create trigger refuse_change after update on task when new.id = '{id}' begin
                select raise(abort, 'refused by a case'); end"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(plant)).execute(&mut raw).await?;
        let sql = "drop trigger refuse_new; drop trigger refuse_change";
        Ok(Some(Box::new(Until { raw, sql })))
    }
}

/// A fault that a statement ends.
struct Until {
    raw: SqliteConnection,
    sql: &'static str,
}

#[async_trait]
impl Lasting for Until {
    async fn lift(mut self: Box<Self>) -> Result<(), HarnessError> {
        sqlx::raw_sql(self.sql).execute(&mut self.raw).await?;
        Ok(())
    }
}
