//! Spawning a process that ends with this one.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// A command for `program` that the system kills as soon as this process has ended, where there
/// is the tool for that (util-linux). The process keeps its id, as the tool becomes the program.
pub(super) fn bound_command(program: &Path) -> Command {
    static HAS_TOOL: LazyLock<bool> = LazyLock::new(|| {
        // Some systems have a tool of this name that does not know the option.
        let mut probe = Command::new(TOOL[0]);
        probe.args(&TOOL[1..]).arg("true");
        let status =
            probe.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    });
    if !*HAS_TOOL {
        return Command::new(program);
    }
    let mut command = Command::new(TOOL[0]);
    command.args(&TOOL[1..]).arg("--").arg(program);
    command
}

const TOOL: [&str; 3] = ["setpriv", "--pdeathsig", "KILL"];

/// Spawns the command from a thread that lives as long as this process. The kernel sends the
/// signal of a parent's death when the *thread* that spawned has ended, and a test's thread
/// may end long before a server that several tests share.
pub(super) fn spawn(command: Command) -> io::Result<Child> {
    static SPAWNER: LazyLock<Sender<Order>> = LazyLock::new(|| {
        let (orders, taken) = channel::<Order>();
        thread::spawn(move || {
            for Order { mut command, reply } in taken {
                // Whoever asked waits for the answer, so that it cannot be lost.
                let _ = reply.send(command.spawn());
            }
        });
        orders
    });
    let (reply, spawned) = channel();
    SPAWNER.send(Order { command, reply }).expect("the spawning thread does not end");
    spawned.recv().expect("the spawning thread answers each order")
}

struct Order {
    command: Command,
    reply: Sender<io::Result<Child>>,
}
