//! What this process has used.

use std::fs;

use crate::Fault;

/// Processor time of the threads that this process has now, in microseconds. Its runtime keeps
/// its threads to the end.
pub fn cpu_us() -> Result<f64, Fault> {
    let mut nanos = 0.0;
    for thread in fs::read_dir("/proc/self/task")? {
        let stat = fs::read_to_string(thread?.path().join("schedstat"))?;
        let ran: f64 = stat.split_whitespace().next().ok_or("an empty schedstat")?.parse()?;
        nanos += ran;
    }
    Ok(nanos / 1e3)
}

/// The most memory that this process ever had, in KiB.
pub fn peak_kib() -> Result<u64, Fault> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let size = line.and_then(|line| line.split_whitespace().next());
    Ok(size.ok_or("no VmHWM in /proc/self/status")?.parse()?)
}
