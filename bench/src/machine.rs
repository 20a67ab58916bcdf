//! [`Machine`]: where the figures come from.

use std::fs;
use std::thread;

use serde::Serialize;

/// What a figure cannot be read without.
#[derive(Debug, Serialize)]
pub struct Machine {
    /// Cores that this process may use.
    pub cores: usize,
    /// The processor's name.
    pub cpu: String,
    /// The kernel's release.
    pub kernel: String,
    /// The load of the last minute when the run began: what else ran.
    pub load: String,
}

impl Machine {
    /// This machine, now.
    pub fn look() -> Self {
        let read = |path| fs::read_to_string(path).unwrap_or_default();
        let cpuinfo = read("/proc/cpuinfo");
        let cpu = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
        let load = read("/proc/loadavg");
        Self {
            cores: thread::available_parallelism().map_or(0, |cores| cores.get()),
            cpu: cpu.unwrap_or("unknown").trim_start_matches([' ', '\t', ':']).to_owned(),
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            load: load.split_whitespace().next().unwrap_or_default().to_owned(),
        }
    }
}
