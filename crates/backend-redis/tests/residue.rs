//! The look at what is left must be able to see: each kind of residue is planted here, and named.

mod shared;

use leasehold_core::decide::{Intervention, Outcome};
use leasehold_core::{Bounds, Claim, ClaimerId, Due, Purpose};
use tokio::sync::OnceCell;

use shared::servers::Found;
use shared::world::{TTL, World, limited, task};

static SERVER: OnceCell<Found> = OnceCell::const_new();

/// A queue with a task in every place, and something of everything beside the tasks.
async fn full() -> World {
    let url = SERVER.get_or_init(Found::find).await.url();
    let world = World::new(&url, "q", Bounds::default()).await;
    world.enqueue([task("dead").with_unique("u")]).await;
    world.act("dead", Intervention::Bury).await;
    world.enqueue([limited("runs", "k")]).await;
    let claim = Claim::new("q", Purpose::Run, 1, TTL, "holder").with_ticket(ClaimerId::fresh(), 1);
    assert_eq!(world.claim_as(claim).await.leases.len(), 1);
    world.enqueue([limited("parked", "k"), task("left"), task("kept")]).await;
    let [left, kept] = &world.claim(3).await.leases[..] else { panic!("two leases") };
    world.succeed(left).await;
    world.end(kept, Outcome::Undecodable { message: "odd".to_owned() }).await;
    world.enqueue([task("gone").with_unique("u")]).await;
    assert_eq!(world.claim(1).await.leases.len(), 1);
    world.act("gone", Intervention::Cancel).await;
    world.enqueue([task("waits").with_unique("w").with_due(Due::In(TTL * 9))]).await;
    world
}

#[tokio::test]
async fn nothing_is_left_in_a_full_queue() {
    let world = full().await;
    world.check_residue().await;
    for key in [
        "all",
        "birth",
        "claimed",
        "claims",
        "clock",
        "done:cancelled",
        "done:dead",
        "events",
        "expire",
        "fence",
        "forget",
        "history:kept",
        "inherit",
        "keys",
        "kinds",
        "lanes",
        "leased",
        "left",
        "limits",
        "parked",
        "parked:g\tk\tkind",
        "queue",
        "slots:g\tk",
        "slotted",
        "task",
        "unique",
        "wait:5:kind",
    ] {
        assert_eq!(world.ask::<i64>("EXISTS", key, &[]).await, 1, "{key}");
    }
    world.close().await;
}

/// Commands that plant residue, each with words that must be found afterwards.
const PLANTED: &[(&[&str], &str)] = &[
    // Keys.
    (&["SET", "strange", "1"], r#"an unknown key "strange""#),
    (&["SADD", "history:waits", "1"], "a value of another type"),
    (&["PEXPIRE", "fence", "1000000"], "a key that expires"),
    // Records and places.
    (&["HSET", "birth", "waits", "odd"], "task waits: a birth record that cannot be read"),
    (&["HSET", "task", "runs", "odd"], "task runs: a record that cannot be read"),
    (&["HDEL", "birth", "runs"], "a record without a task: runs"),
    (&["DEL", "all"], "is missing"),
    (&["ZADD", "all", "0", "nobody"], r#""nobody" is in "all" without a task"#),
    (&["ZREM", "leased", "runs"], r#"("leased", "runs") is missing"#),
    (&["ZADD", "leased", "5", "runs"], r#"("leased", "runs") at 5 and not at"#),
    (&["ZADD", "leased", "5", "nobody"], r#""nobody" is in "leased" without a task"#),
    (&["DEL", "done:dead"], r#"("done:dead", "#),
    (&["ZADD", "done:succeeded", "0", "nobody"], r#""nobody" is in "done:succeeded""#),
    (&["ZREM", "expire", "gone"], r#"("expire", "gone") is missing"#),
    (&["ZADD", "expire", "5", "runs"], r#""runs" is in "expire" without"#),
    (&["DEL", "wait:5:kind"], "waits waits, and stands in []"),
    (&["ZADD", "wait:5:kind", "5", "nobody"], r#""nobody" is in "wait:5:kind" without"#),
    (&["ZINCRBY", "wait:5:kind", "1", "$waits"], "waits in \"wait:5:kind\" at"),
    (&["ZADD", "wait:4:kind", "5", "$waits"], "is in \"wait:4:kind\" without"),
    (&["ZADD", "parked:g\tk\tkind", "5", "nobody"], r#""nobody" is in "parked:g\tk\tkind""#),
    (&["ZREM", "lanes", "5:kind"], "lane 5:kind is ready at"),
    (&["ZADD", "lanes", "9000000000000000", "5:kind"], "lane 5:kind is ready at"),
    (&["ZADD", "lanes", "9000000000000000", "5:other"], "lane 5:other without a task"),
    // What is kept beside a task.
    (&["HSET", "note", "runs", "n"], "runs has [true, false, false] and no mark"),
    (&["HSET", "result", "runs", "r"], "runs has [false, true, false] and no mark"),
    (&["RPUSH", "history:runs", "h"], "runs has [false, false, true] and no mark"),
    (&["RPUSH", "history:kept", "h"], "the history of kept has a line that is none"),
    (&["HSET", "note", "nobody", "n"], "a note without a task: nobody"),
    (&["HSET", "result", "nobody", "r"], "a result without a task: nobody"),
    (&["RPUSH", "history:nobody", "h"], "a history without a task: nobody"),
    // Limits.
    (&["ZADD", "slots:g\tk", "9000000000000000", "nobody"], "slot nobody of \"g\\tk\" without"),
    (&["ZADD", "slots:g\tk", "9000000000000000", "$slot"], "of \"g\\tk\" without a lease"),
    (&["ZADD", "slots:g\tz", "9000000000000000", "nobody"], "slots of \"g\\tz\" that no walk"),
    (&["ZREM", "slotted", "g\tk"], "slots of \"g\\tk\" that no walk finds"),
    (&["DEL", "parked:g\tk\tkind"], "parked waits, and stands in []"),
    (&["INCR", "parked"], "2 counted of 1 parked"),
    (&["ZREM", "keys", "g\tk"], "\"g\\tk\" is looked at None"),
    (&["ZADD", "keys", "9000000000000000", "g\tk"], "\"g\\tk\" is looked at Some("),
    (&["DEL", "slots:g\tk"], "\"g\\tk\" is looked at Some("),
    (&["ZADD", "keys", "0", "g\tz"], "keys: \"g\\tz\" without a parked task"),
    (&["HSET", "kinds", "g\tz", "0\tkind"], "kinds: \"g\\tz\" without a parked task"),
    (&["HDEL", "kinds", "g\tk"], "\"g\\tk\" parks"),
    (&["HSET", "kinds", "g\tk", "900000000000000\tkind\tz"], "\"g\\tk\" parks"),
    (&["HSET", "kinds", "g\tk", "000000000000000\tkind"], "\"g\\tk\" parked at 0 what is ready"),
    (&["HSET", "queue", "parked_at", "0"], "\"g\\tk\" parks one of"),
    // Unique keys.
    (&["HDEL", "unique", "w"], "waits has key \"w\" of None"),
    (&["HSET", "unique", "w", "runs"], "waits has key \"w\" of Some(\"runs\")"),
    (&["HSET", "unique", "z", "runs"], "the unique key \"z\" without an unfinished task"),
    (&["ZADD", "inherit", "9000000000000000", "u"], "\"u\" inherits"),
    // What is remembered.
    (&["DEL", "forget"], "left is remembered until"),
    (&["ZADD", "forget", "5", "left"], "left is remembered until"),
    (&["HSET", "left", "z", "odd"], "what is remembered of z cannot be read"),
    (&["HSET", "left", "runs", "$left"], "runs is remembered, and in use"),
    (&["DEL", "claimed"], "is never forgotten"),
    (&["DEL", "claims"], "has claimed, and no claim is recorded"),
    (&["HSET", "claims", "z", "odd"], "the claim of z cannot be read"),
    // Fences, settings, counters.
    (&["SET", "fence", "0"], "is above the fence 0"),
    (&["HDEL", "queue", "made"], "tasks in a queue that was never made"),
    (&["HSET", "queue", "z", "1"], "an unknown setting z"),
    (&["HSET", "limits", "g", "many"], "the limit of g is no number"),
    (&["HSET", "events", "z", "1"], "an unknown counter z"),
    (&["SET", "clock", "noon"], "the clock cannot be read"),
];

#[tokio::test]
async fn each_kind_of_residue_is_named() {
    for (words, named) in PLANTED {
        let world = full().await;
        let [name, key, rest @ ..] = words else { panic!("a command and a key") };
        let mut filled = Vec::new();
        for word in rest {
            filled.push(fill(&world, word).await);
        }
        let filled: Vec<_> = filled.iter().map(String::as_str).collect();
        let _: redis::Value = world.ask(name, key, &filled).await;
        let found = world.residue().await;
        assert!(found.iter().any(|what| what.contains(named)), "{words:?}: {found:#?}");
        world.close().await;
    }
}

/// A word of a command that only the store knows.
async fn fill(world: &World, word: &str) -> String {
    match word {
        "$waits" => world.ask::<Vec<String>>("ZRANGE", "wait:5:kind", &["0", "0"]).await.remove(0),
        "$slot" => world.ask::<Vec<String>>("ZRANGE", "slots:g\tk", &["0", "0"]).await.remove(0),
        "$left" => world.ask("HGET", "left", &["left"]).await,
        word => word.to_owned(),
    }
}

/// Edits of the record of the task that runs: from, to.
const EDITED: &[(&str, &str, &str)] = &[
    ("r1", "z1", "runs has the state z"),
    ("r1", "r0", "task runs: a record that cannot be read"),
    ("r1", "w1", "runs is w, its lease ends"),
    ("r1", "s1", "runs is s, finished false"),
    ("\tkind\t", "\tsort\t", "task runs: two records that disagree"),
    ("\tk\t", "\tz\t", "task runs: two records that disagree"),
];

#[tokio::test]
async fn a_record_that_does_not_fit_is_named() {
    for (from, to, named) in EDITED {
        let world = full().await;
        let record: String = world.ask("HGET", "task", &["runs"]).await;
        let edited = record.replacen(from, to, 1);
        assert_ne!(record, edited);
        let _: i64 = world.ask("HSET", "task", &["runs", &edited]).await;
        let found = world.residue().await;
        assert!(found.iter().any(|what| what.contains(named)), "{from} {to}: {found:#?}");
        world.close().await;
    }
}

/// A fence that was shown stands in no run's place, and a finished task in time.
#[tokio::test]
async fn a_fence_or_time_that_does_not_fit_is_named() {
    let world = full().await;
    let record: String = world.ask("HGET", "task", &["runs"]).await;
    let edited = format!("9{}", &record[1..]);
    let _: i64 = world.ask("HSET", "task", &["runs", &edited]).await;
    let found = world.residue().await.join("\n");
    assert!(found.contains("runs is above the fence"), "{found}");
    assert!(found.contains("runs runs under another fence"), "{found}");
    let record: String = world.ask("HGET", "task", &["gone"]).await;
    let mut fields: Vec<_> = record.split('\t').collect();
    fields[12] = fields[11];
    let _: i64 = world.ask("HSET", "task", &["gone", &fields.join("\t")]).await;
    let found = world.residue().await.join("\n");
    assert!(found.contains("gone should have left as it was finished"), "{found}");
    world.close().await;
}

#[tokio::test]
async fn a_key_beside_the_queues_is_named() {
    let world = full().await;
    let loose = |name: &str| format!("{}:{name}", world.namespace);
    let _: () = world.raw.ask(redis::cmd("SET").arg(loose("strange")).arg(1)).await.expect("set");
    let _: i64 = world.raw.ask(redis::cmd("DEL").arg(loose("queues"))).await.expect("deleted");
    let _: i64 = world
        .raw
        .ask(redis::cmd("ZADD").arg(loose("queues")).arg(0).arg("other"))
        .await
        .expect("added");
    let found = world.residue().await;
    assert!(found.contains(&"an unknown key strange".to_owned()), "{found:?}");
    assert!(found.contains(&"q: a queue whose name is not noted".to_owned()), "{found:?}");
    world.close().await;
}
