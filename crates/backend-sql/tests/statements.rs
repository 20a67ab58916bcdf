//! Each statement can be prepared on a migrated file, uses the indexes that its head names,
//! and walks through no table.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use leasehold_sql::{SqliteBackend, SqliteConfig};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Row, SqliteConnection};

/// What a plan may scan: rows that the statement itself has made.
const SCANS: &[&str] = &["CONSTANT ROW", "VIRTUAL TABLE", "(subquery-"];

/// The statements' own names for such rows.
const OWN: &[&str] =
    &["level", "granted", "standing", "next", "here", "parked_kind", "aside", "held", "newer"];

fn statements() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sql/sqlite");
    let entries = fs::read_dir(folder).expect("the statements are there");
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        (name, fs::read_to_string(&path).expect("a text"))
    };
    entries.map(read).collect()
}

async fn migrated(folder: &Path) -> SqliteConnection {
    let path = folder.join("tasks.db");
    SqliteBackend::connect(SqliteConfig::new(&path)).await.expect("a new file");
    SqliteConnectOptions::new().filename(path).connect().await.expect("it can be opened")
}

async fn plan(conn: &mut SqliteConnection, sql: &str) -> Vec<String> {
    let explain = format!("explain query plan {sql}");
    let rows = sqlx::query(AssertSqlSafe(explain)).fetch_all(conn).await.expect("it is prepared");
    rows.iter().map(|row| row.get("detail")).collect()
}

/// Whether a step of a plan goes through the entry that `index` names: an index, a table by
/// its key, or `integer primary key`.
fn uses(step: &str, index: &str) -> bool {
    let by_key = |table: &str| {
        step.starts_with(&format!("SEARCH {table} USING"))
            && (step.contains("PRIMARY KEY") || step.contains("sqlite_autoindex_"))
    };
    if index == "integer primary key" {
        return step.contains("INTEGER PRIMARY KEY (rowid=?)");
    }
    step.contains(&format!("INDEX {index} ")) || by_key(index)
}

/// What is wrong with the plan of each statement on this file.
async fn faults(conn: &mut SqliteConnection) -> Vec<String> {
    let mut faults = Vec::new();
    for (name, sql) in statements() {
        let named = sql.lines().find_map(|line| line.strip_prefix("-- index: "));
        let Some(named) = named else {
            faults.push(format!("{name}: no line `-- index:` in its head"));
            continue;
        };
        let plan = plan(conn, &sql).await;
        for index in named.split(", ").filter(|index| *index != "none") {
            if !plan.iter().any(|step| uses(step, index)) {
                faults.push(format!("{name}: does not use {index}:\n  {}", plan.join("\n  ")));
            }
        }
        for step in plan.iter().filter(|step| step.starts_with("SCAN ")) {
            let scanned = step.split(' ').nth(1).unwrap_or_default();
            if !SCANS.iter().any(|scan| step.contains(scan)) && !OWN.contains(&scanned) {
                faults.push(format!("{name}: {step}"));
            }
        }
    }
    faults
}

#[tokio::test]
async fn each_statement_uses_the_indexes_that_it_names() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut conn = migrated(folder.path()).await;
    let faults = faults(&mut conn).await;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// C131: an index that no statement uses costs every write and serves nobody.
#[tokio::test]
async fn each_index_is_used_by_a_statement() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut conn = migrated(folder.path()).await;
    let indexes = "select name from sqlite_schema where type = 'index' and sql is not null";
    let rows = sqlx::query(indexes).fetch_all(&mut conn).await.expect("the schema is read");
    let mut unused: BTreeSet<String> = rows.iter().map(|row| row.get("name")).collect();
    assert!(unused.len() > 10, "the schema has indexes: {unused:?}");
    for (_, sql) in statements() {
        for step in plan(&mut conn, &sql).await {
            unused.retain(|index| !uses(&step, index));
        }
    }
    assert_eq!(unused, BTreeSet::new());
}

/// A plan that was right without statistics must still be chosen once somebody has analyzed
/// a file in which one queue has nearly everything.
#[tokio::test]
async fn statistics_change_no_plan_for_the_worse() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut conn = migrated(folder.path()).await;
    for fill in FILL {
        sqlx::raw_sql(*fill).execute(&mut conn).await.expect("it is filled");
    }
    let faults = faults(&mut conn).await;
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What a plan must say, or must not, beyond the indexes: how far each of them is walked.
#[tokio::test]
async fn no_plan_walks_or_sorts_more_than_it_has_to() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut conn = migrated(folder.path()).await;
    let statements = statements();
    for filled in [false, true] {
        for fill in FILL.iter().filter(|_| filled) {
            sqlx::raw_sql(*fill).execute(&mut conn).await.expect("it is filled");
        }
        let next = plan(&mut conn, &statements["mend_key"]).await.join("\n");
        for arm in ["limit_group=? AND limit_key>?)", "limit_group>?)"] {
            assert_eq!(next.matches(arm).count(), 2, "each key is found by one step:\n{next}");
        }
        let counts = plan(&mut conn, &statements["counts"]).await.join("\n");
        assert!(!counts.contains("TEMP B-TREE"), "nothing is sorted to be counted:\n{counts}");
    }
}

const FILL: &[&str] = &[
    "insert into queue (queue, name, retention, id_memory_ms) values (1, 'q', '{}', 0)",
    "with recursive n (n) as (select 1 union all select n + 1 from n where n < 3000)
     insert into task (queue, id, kind, format, terms, rank, state, enqueued_at, due, fence,
       born, until, limit_group, limit_key, parked, unique_key, payload)
     select 1, n, 'k' || n % 3, 1, '{}', n % 10,
       iif(n % 7 = 0, 'leased_run', 'waiting'), n, n, n, n, iif(n % 7 = 0, n, null),
       'g', n % 50, iif(n % 7 = 1, 1, 0), n, x'' from n",
    "insert into slot (queue, limit_group, limit_key, id, fence, until)
     select queue, limit_group, limit_key, id, fence, until from task where until is not null",
    "insert into limit_key (queue, limit_group, limit_key, wake_at, parked_at)
     select queue, limit_group, limit_key, seq, seq from task where parked = 1 group by 1, 2, 3",
    "analyze",
];

#[test]
fn each_statement_says_what_it_takes() {
    let mut faults = Vec::new();
    for (name, sql) in statements() {
        let is_head = |line: &&str| line.starts_with("--");
        let head: Vec<_> = sql.lines().take_while(is_head).collect();
        let body = sql.lines().skip(head.len()).collect::<Vec<_>>().join("\n");
        for n in 1..=30 {
            let takes = body.match_indices(&format!("?{n}")).any(|(at, text)| {
                !body[at + text.len()..].starts_with(|next: char| next.is_ascii_digit())
            });
            let told = head.iter().any(|line| line.starts_with(&format!("-- ?{n} ")));
            if takes != told {
                faults.push(format!("{name}: ?{n} is used: {takes}, told: {told}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
