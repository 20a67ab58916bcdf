//! Every key that any script touches belongs to the one queue it runs on, whatever the queue's
//! name is: else a cluster could not serve it. Seen by MONITOR on a node of a cluster.

mod shared;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use leasehold_conformance::servers::until;
use leasehold_core::decide::{self, Intervention, Outcome};
use leasehold_core::{
    Backend, Bounds, Claim, ClaimerId, Configure, Count, Delivery, Edit, Filter, Keep, LimitKey,
    List, NewTask, OnLeased, Payload, Purpose, Queues, Renew, RenewItem, Retention, TaskRef,
};

use shared::harness::key;
use shared::servers::Redis;
use shared::world::{TTL, World, ids};

/// Names that break a hash tag if they are not written with care.
fn names() -> Vec<String> {
    let awkward =
        ["{", "}", "{}", "}{", "a{b}c", "a:b::c", "*?[a-z]\\^", "%7B%", "mail", "\u{1f980}"];
    let long = "\u{e9}".repeat(100);
    assert_eq!(long.len(), 200);
    awkward.into_iter().map(str::to_owned).chain([long]).collect()
}

#[tokio::test]
async fn every_key_that_a_script_touches_carries_its_queues_tag() {
    let node = node().await;
    let url = format!("redis-cluster://{}", node.address());
    for name in names() {
        let world = World::new(&url, &name, Bounds::default()).await;
        let monitor = Monitor::begin(&node.url());
        every_path(&world).await;
        let commands = monitor.end(&world).await;
        let keys: BTreeSet<String> = commands.iter().flat_map(|command| keys_of(command)).collect();
        let prefix = key(&world.namespace, &name, "");
        let mut slots = BTreeSet::new();
        let mut families = BTreeSet::new();
        for key in &keys {
            let suffix = key.strip_prefix(&prefix);
            let suffix = suffix.unwrap_or_else(|| panic!("{name:?}: {key:?} has another tag"));
            families.insert(suffix.split(':').next().unwrap_or_default().to_owned());
            let slot = redis::cmd("CLUSTER").arg("KEYSLOT").arg(key).clone();
            slots.insert(world.raw.ask::<u16>(&slot).await.expect("a hash slot"));
        }
        assert_eq!(slots.len(), 1, "{name:?}: the keys lie in the hash slots {slots:?}");
        // A path that was not taken proves nothing.
        assert_eq!(families.into_iter().collect::<Vec<_>>().join(" "), FAMILIES, "{name:?}");
        world.check_residue().await;
        world.close().await;
    }
}

const FAMILIES: &str = "all birth claimed claims clock done events expire fence forget history \
                        inherit keys kinds lanes leased left limits note parked queue result \
                        slots slotted task unique wait wake";

/// A node that is a cluster for itself.
async fn node() -> Redis {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
    let second = listener.local_addr().expect("it is bound").port().to_string();
    drop(listener);
    let node = Redis::start_new(&["--cluster-enabled", "yes", "--cluster-port", &second]).await;
    let client = redis::Client::open(node.url()).expect("a good url");
    let mut link = client.get_multiplexed_async_connection().await.expect("it is up");
    let mut add = redis::cmd("CLUSTER");
    add.arg("ADDSLOTSRANGE").arg(0).arg(16_383);
    let _: () = add.query_async(&mut link).await.expect("all slots are its own");
    let serves = until("a cluster of one node", Duration::from_secs(20), || {
        let mut link = link.clone();
        async move {
            let info: redis::RedisResult<String> =
                redis::cmd("CLUSTER").arg("INFO").query_async(&mut link).await;
            let info = info.map_err(|error| error.to_string())?;
            if info.contains("cluster_state:ok") { Ok(()) } else { Err(info) }
        }
    });
    serves.await.expect("it serves");
    node
}

fn odd(id: &str) -> NewTask {
    NewTask::named(format!("{id}}}{{:*"), "kind}{:*", "payload", Delivery::at_least_once())
}

fn limited(id: &str) -> NewTask {
    odd(id).with_limit(LimitKey::new("g", "k}{:*"))
}

/// Each verb, and what it does beside the usual.
async fn every_path(world: &World) {
    let keep = Retention::default()
        .with_succeeded(Keep::For(Duration::from_secs(60)))
        .with_cancelled(Keep::For(Duration::from_secs(60)));
    let settings = || Configure::new(&*world.queue).with_limit("g", 1).with_retention(keep);
    world.store.configure(settings()).await.expect("configured");
    // A unique key, a limit, a claim that parks, a follow-up, a result, a note, a history.
    world.enqueue([limited("runs").with_unique("u}{:*"), limited("parked"), odd("plain")]).await;
    let request = || Claim::new(&*world.queue, Purpose::Run, 9, TTL, "holder");
    let ticket = ClaimerId::fresh();
    let claimed = world.claim_as(request().with_ticket(ticket, 1)).await;
    assert_eq!(claimed.leases.len(), 2);
    let again = world.claim_as(request().with_ticket(ticket, 1)).await;
    assert_eq!(ids(&again), ids(&claimed));
    let [runs, plain] = &claimed.leases[..] else { panic!("two leases") };
    let item = |lease: &leasehold_core::Lease| {
        RenewItem::new(lease.guard(), TTL).with_note(Payload::from("note"))
    };
    let renewed = world.store.renew(Renew::new(vec![item(runs), item(plain)])).await;
    assert!(renewed.is_ok_and(|items| items.iter().all(Result::is_ok)));
    let result = Some(Payload::from("result"));
    let done = Outcome::Succeeded { result, follow_ups: vec![odd("next").with_unique("v}{:*")] };
    world.end(plain, done).await;
    world.act("runs}{:*", Intervention::Requeue(OnLeased::Revoke)).await;
    world.act("parked}{:*", Intervention::Edit(Edit::default().with_payload("other"))).await;
    world.store.configure(settings()).await.expect("configured");
    // What was taken away is waited for, also by the next holder of its key.
    world.clock.shift(30_000);
    let claimed = world.claim(9).await;
    assert!(claimed.leases.len() >= 2, "{:?}", ids(&claimed));
    assert!(ids(&claimed).contains(&"next}{:*"), "{:?}", ids(&claimed));
    world.act("next}{:*", Intervention::Cancel).await;
    world.enqueue([odd("heir").with_unique("v}{:*")]).await;
    // Lapse, rescue, burial, redrive, deletion.
    world.clock.shift(30_000);
    for lease in world.rescue(9).await.leases {
        let change = decide::rescue(&lease);
        let item = leasehold_core::CommitItem::new(lease.guard(), change);
        let told = world.store.commit(leasehold_core::Commit::new(vec![item])).await;
        assert!(told.is_ok_and(|items| items.iter().all(Result::is_ok)));
    }
    for lease in world.claim(9).await.leases {
        world.end(&lease, Outcome::Undecodable { message: "odd".to_owned() }).await;
    }
    world.act("heir}{:*", Intervention::Redrive).await;
    world.act("heir}{:*", Intervention::Delete).await;
    // Reads, and what goes when its time is over.
    let filter = [Filter::all(), Filter::all().with_status(leasehold_core::Status::Dead)];
    for filter in filter {
        world.store.list(List::new(&*world.queue, filter, 9)).await.expect("listed");
    }
    world.store.counts(Count::new(&*world.queue)).await.expect("counted");
    world.store.queues(Queues::new(9)).await.expect("listed");
    world.clock.shift(-20_000);
    world.store.counts(Count::new(&*world.queue)).await.expect("counted");
    world.clock.shift(2 * 60 * 60 * 1_000);
    world.purge().await;
    let gone = TaskRef::new(&*world.queue, "gone");
    world.store.get(leasehold_core::Get::new(gone)).await.expect("read");
}

/// What scripts run on a server, from now on.
struct Monitor(BufReader<TcpStream>);

impl Monitor {
    fn begin(url: &str) -> Self {
        let address = url.trim_start_matches("redis://").trim_end_matches('/');
        let mut stream = TcpStream::connect(address).expect("it is up");
        stream.write_all(b"MONITOR\r\n").expect("it listens");
        let mut lines = BufReader::new(stream);
        let mut told = String::new();
        lines.read_line(&mut told).expect("it answers");
        assert_eq!(told.trim_end(), "+OK");
        Self(lines)
    }

    /// Every command of a script since then, as its words.
    async fn end(self, world: &World) -> Vec<Vec<String>> {
        let last = format!("the end of {}", world.namespace);
        let _: String = world.raw.alone(redis::cmd("ECHO").arg(&last)).await.expect("it answers");
        let mut commands = Vec::new();
        for line in self.0.lines() {
            let line = line.expect("text");
            if line.contains(&last) {
                return commands;
            }
            if let Some((_, words)) = line.split_once(" lua] ") {
                commands.push(words_of(words));
            }
        }
        panic!("the monitor ended by itself");
    }
}

/// The words of a line, as the server quotes them.
fn words_of(line: &str) -> Vec<String> {
    let (mut words, mut bytes) = (Vec::new(), line.bytes());
    while let Some(byte) = bytes.next() {
        if byte != b'"' {
            continue;
        }
        let mut word = Vec::new();
        loop {
            match bytes.next().expect("a word ends") {
                b'"' => break,
                b'\\' => word.push(match bytes.next().expect("an escape ends") {
                    b'x' => {
                        let code =
                            [bytes.next(), bytes.next()].map(|digit| digit.expect("a digit"));
                        let code = std::str::from_utf8(&code).expect("two digits");
                        u8::from_str_radix(code, 16).expect("a code")
                    }
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => other,
                }),
                byte => word.push(byte),
            }
        }
        words.push(String::from_utf8_lossy(&word).into_owned());
    }
    words
}

/// The keys of a command, a channel among them; for a command that no script has had so far,
/// whoever adds it says here which they are.
fn keys_of(command: &[String]) -> Vec<String> {
    let places: BTreeMap<&str, &[usize]> =
        BTreeMap::from([("TIME", &[][..]), ("ZUNIONSTORE", &[1, 3][..])]);
    const FIRST: &[&str] = &[
        "DECRBY",
        "DEL",
        "EXISTS",
        "GET",
        "HDEL",
        "HEXISTS",
        "HGET",
        "HGETALL",
        "HINCRBY",
        "HMGET",
        "HSCAN",
        "HSET",
        "HSETNX",
        "HSTRLEN",
        "INCRBY",
        "LPOP",
        "LPUSH",
        "LRANGE",
        "PUBLISH",
        "RPUSH",
        "SET",
        "ZADD",
        "ZCARD",
        "ZCOUNT",
        "ZPOPMIN",
        "ZRANGE",
        "ZRANGEBYLEX",
        "ZRANGEBYSCORE",
        "ZREM",
        "ZREMRANGEBYRANK",
        "ZREMRANGEBYSCORE",
        "ZSCORE",
    ];
    let name = &*command[0];
    let at = match places.get(name) {
        Some(places) => places,
        None if FIRST.contains(&name) => &[1][..],
        None => panic!("the keys of {name} are not known: {command:?}"),
    };
    at.iter().map(|at| command[*at].clone()).collect()
}
