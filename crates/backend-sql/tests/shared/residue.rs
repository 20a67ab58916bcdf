//! What is left in a file that neither a task nor a clause explains.

use sqlx::{Row, SqliteConnection};

/// What is wrong, and the statement that finds it: one text a row. `?1` is now, in ms.
const QUERIES: &[(&str, &str)] = &[
    (
        "a slot without a lease or a held until",
        "select limit_key || ' of ' || id from slot where until > ?1 and not exists (
           select 1 from task where task.queue = slot.queue and task.id = slot.id
             and (task.run = slot.fence or task.held_until >= slot.until))",
    ),
    (
        "a parked task whose limit key nobody looks at",
        "select id from task where parked = 1 and not exists (
           select 1 from limit_key where limit_key.queue = task.queue
             and limit_key.limit_group = task.limit_group
             and limit_key.limit_key = task.limit_key)",
    ),
    (
        "a limit key without a parked task, and not about to be looked at",
        "select limit_key from limit_key where wake_at <> 0 and not exists (
           select 1 from task where task.queue = limit_key.queue and task.parked = 1
             and task.limit_group = limit_key.limit_group
             and task.limit_key = limit_key.limit_key)",
    ),
    (
        "a limit key that is looked at later than its next slot ends",
        "select limit_key from limit_key where wake_at > (
           select min(until) from slot where slot.queue = limit_key.queue
             and slot.limit_group = limit_key.limit_group
             and slot.limit_key = limit_key.limit_key)",
    ),
    (
        "a parked task that was not ready when it was parked",
        "select task.id from task join limit_key on limit_key.queue = task.queue
           and limit_key.limit_group = task.limit_group and limit_key.limit_key = task.limit_key
         where task.parked = 1 and task.ready > limit_key.parked_at",
    ),
    (
        "a record of a task that is not there",
        "select task from history where task not in (select seq from task)",
    ),
    (
        "a remembered id that is in use",
        "select id from remembered where until > ?1 and exists (
           select 1 from task where task.queue = remembered.queue and task.id = remembered.id)",
    ),
    (
        "a tally that is wrong",
        "select counted.queue || ' ' || counted.state from (
           select queue, state, count(*) as n from task where finished_at is not null group by 1, 2
         ) as counted left join tally
           on tally.queue = counted.queue and tally.state = counted.state
         where tally.n is not counted.n
         union all
         select queue || ' ' || state from tally where n <> (
           select count(*) from task where task.queue = tally.queue
             and task.state = tally.state and task.finished_at is not null)",
    ),
    (
        "a finished task that should have left in the step that finished it",
        "select id from task where expires <= finished_at",
    ),
    (
        "a damaged file",
        "select integrity_check from pragma_integrity_check
         where integrity_check <> 'ok'",
    ),
];

/// Each thing that is left, in words; empty when all is well.
pub async fn residue(conn: &mut SqliteConnection, now_ms: i64) -> Vec<String> {
    let mut found = Vec::new();
    for (what, sql) in QUERIES {
        let rows = sqlx::query(*sql).bind(now_ms).fetch_all(&mut *conn).await;
        for row in rows.unwrap_or_else(|error| panic!("{what}: {error}")) {
            let which: String = row.try_get_unchecked(0).unwrap_or_default();
            found.push(format!("{what}: {which}"));
        }
    }
    found
}
