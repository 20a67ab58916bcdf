//! Leasehold: durable background tasks.
