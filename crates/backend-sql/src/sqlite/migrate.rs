//! The schema's number in the file, and the steps from one to the next.
//!
//! The file itself says whose it is (`application_id`) and which schema it has
//! (`user_version`). Steps only go forward, each in the transaction that also writes its
//! number, so that of several processes that open a file at once one migrates it.

use leasehold_core::{Error, ErrorKind};
use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;

use crate::error::Fault;

/// `LHLD` in ASCII: marks a file as ours.
const APPLICATION_ID: i32 = 0x4c48_4c44;

/// One statement sees one state of the file; several would see a part of what another process
/// that migrates it does in between.
const WHOSE: &str = "select (select application_id from pragma_application_id),
    (select user_version from pragma_user_version), (select count(*) from sqlite_schema)";

/// One step a schema; each ends by writing its number.
const STEPS: &[&str] = &[include_str!("../../migrations/sqlite/0001_create_tables.sql")];

/// Refuses a file that belongs to somebody else or to a newer version, and tells how many
/// steps it has been taken. Changes nothing.
pub(super) async fn check(conn: &mut SqliteConnection) -> Result<usize, Fault> {
    let (application, schema, tables): (i64, i64, i64) =
        sqlx::query_as(WHOSE).fetch_one(conn).await?;
    let is_new = application == 0 && schema == 0 && tables == 0;
    if application != i64::from(APPLICATION_ID) && !is_new {
        let what = "the file is a database of another application: choose a file of its own";
        return Err(Error::invalid(what).into());
    }
    match usize::try_from(schema) {
        Ok(schema) if schema <= STEPS.len() => Ok(schema),
        _ => {
            let known = STEPS.len();
            let what = format!(
                "the file has schema {schema} and this build knows {known}: upgrade Leasehold"
            );
            Err(Error::new(ErrorKind::Unsupported, what).into())
        }
    }
}

/// Takes the steps that are missing.
pub(super) async fn migrate(conn: &mut SqliteConnection) -> Result<(), Fault> {
    if check(conn).await? == STEPS.len() {
        return Ok(());
    }
    let mut step = conn.begin_with("begin immediate").await?;
    // Another process may have been faster: what counts is what is there under the lock.
    let taken = check(&mut step).await?;
    for sql in &STEPS[taken..] {
        sqlx::raw_sql(*sql).execute(&mut *step).await?;
    }
    step.commit().await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_migrated_file_bears_the_constants_and_is_not_migrated_again() {
        let mut conn = SqliteConnection::connect("sqlite::memory:").await.expect("in memory");
        assert_eq!(check(&mut conn).await.expect("new"), 0);
        for _ in 0..2 {
            migrate(&mut conn).await.expect("migrates");
            let id = sqlx::query_scalar::<_, i64>("pragma application_id").fetch_one(&mut conn);
            assert_eq!(id.await.expect("a number"), i64::from(APPLICATION_ID));
            assert_eq!(check(&mut conn).await.expect("ours"), STEPS.len());
        }
    }

    #[tokio::test]
    async fn a_newer_schema_is_refused() {
        let mut conn = SqliteConnection::connect("sqlite::memory:").await.expect("in memory");
        migrate(&mut conn).await.expect("migrates");
        sqlx::raw_sql("pragma user_version = 99").execute(&mut conn).await.expect("is set");
        let Err(Fault::Told(error)) = check(&mut conn).await else { panic!("taken") };
        assert_eq!(error.kind(), ErrorKind::Unsupported);
        assert!(error.to_string().contains("upgrade Leasehold"), "{error}");
    }
}
