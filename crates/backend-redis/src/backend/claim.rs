//! claim: `lua/claim.lua`.

use leasehold_core::clock::millis;
use leasehold_core::{Claim, Claimed, Lease, Payload, Purpose, Timestamp};
use redis::Value;

use super::RedisBackend;
use super::enqueue::text;
use crate::codec::{seq, stored, unreadable};
use crate::error::Fault;
use crate::scripts::Script;

impl RedisBackend {
    pub(super) async fn claim_step(&self, request: &Claim) -> Result<Claimed, Fault> {
        let mut call = self.call(Script::Claim, &request.queue);
        call.arg(match request.purpose {
            Purpose::Run => "r",
            Purpose::Rescue => "q",
        });
        call.number(request.max).number(millis(request.ttl)).arg(&request.holder);
        match request.ticket {
            Some(ticket) => call.number(ticket.claimer).arg(seq(ticket.seq)),
            None => call.arg("").arg(""),
        };
        call.number(self.capabilities.bounds.batch_bytes_max);
        for kind in request.kinds.iter().flatten() {
            call.arg(kind);
        }
        let reply = call.run(&self.link).await?;
        let [more, now, leases @ ..] = &reply[..] else { return Err(unreadable("a claim")) };
        let now = Timestamp::from_millis(text(now)?.parse().map_err(|_| unreadable("now"))?);
        let more = match text(more)? {
            "s" => return Ok(Claimed::superseded()),
            more => more == "1",
        };
        let leases = leases.chunks(LEASE).map(|parts| lease(&request.queue, parts, now));
        Ok(Claimed::new(leases.collect::<Result<_, _>>()?, more))
    }
}

/// How many values of the reply make a lease.
const LEASE: usize = 4;

fn lease(queue: &str, parts: &[Value], now: Timestamp) -> Result<Lease, Fault> {
    let [id, birth, record, note] = parts else { return Err(unreadable("a lease")) };
    let (Value::BulkString(birth), Value::BulkString(record), Value::BulkString(note)) =
        (birth, record, note)
    else {
        return Err(unreadable("a lease"));
    };
    let mut task = stored(queue, text(id)?, birth, record)?;
    task.note = note.strip_prefix(b"+").map(|note| Payload::from(note.to_vec()));
    Ok(Lease::of(task, now))
}
