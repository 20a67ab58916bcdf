//! The consts of derived types, as another crate sees them.

use std::time::Duration;

use leasehold_core::{Delivery, Priority, RetryPolicy, Task};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

mod macros {
    pub use leasehold_macros::Task;
}

#[derive(Serialize, Deserialize, macros::Task)]
#[task(crate = leasehold_core, kind = "mail.welcome", delivery = at_least_once)]
struct Welcome {
    user: u64,
}

#[test]
fn what_is_not_said_is_left_to_the_trait() {
    assert_eq!(Welcome::KIND, "mail.welcome");
    assert_eq!(Welcome::DELIVERY, Delivery::AtLeastOnce { max_rescues: 3 });
    assert_eq!(Welcome::QUEUE, "default");
    assert_eq!(Welcome::PRIORITY, Priority::DEFAULT);
    assert_eq!(Welcome::RETRY, RetryPolicy::DEFAULT);
    assert_eq!(Welcome::TIMEOUT, Duration::from_secs(30 * 60));
    const { assert!(!Welcome::ACCEPT_LOSS) };
    let payload = leasehold_core::typed::encode(&Welcome { user: 7 }).expect("it is JSON");
    let back: Welcome = leasehold_core::typed::decode(&payload).expect("it is the same");
    assert_eq!(back.user, 7);
}

#[derive(Serialize, Deserialize, macros::Task)]
#[task(kind = "report", delivery = at_least_once, max_rescues = 5)]
#[task(queue = "slow", priority = 9, max_retries = 0, timeout = "2h")]
#[task(crate = ::leasehold_core)]
struct Report(u64);

#[test]
fn each_parameter_says_its_const() {
    assert_eq!(Report::KIND, "report");
    assert_eq!(Report::DELIVERY, Delivery::AtLeastOnce { max_rescues: 5 });
    assert_eq!(Report::QUEUE, "slow");
    assert_eq!(Report::PRIORITY, Priority::HIGHEST);
    assert_eq!(Report::RETRY, RetryPolicy::NONE);
    assert_eq!(Report::TIMEOUT, Duration::from_secs(2 * 60 * 60));
}

#[derive(Serialize, Deserialize, macros::Task)]
#[task(crate = leasehold_core, kind = "charge", delivery = not_after_loss, max_retries = 2)]
#[task(accept_loss)]
enum Charge {
    Card { number: u64 },
    Invoice(u64),
}

#[derive(Serialize, Deserialize, macros::Task)]
#[task(crate = leasehold_core, kind = "launch", delivery = at_most_once, accept_loss)]
struct Launch;

#[test]
fn a_kind_that_never_runs_again_may_accept_loss() {
    assert_eq!(Charge::DELIVERY, Delivery::NotAfterLoss);
    assert_eq!(Charge::RETRY, RetryPolicy::at_most(2));
    const { assert!(Charge::ACCEPT_LOSS) };
    assert_eq!(Launch::DELIVERY, Delivery::AtMostOnce);
    const { assert!(Launch::ACCEPT_LOSS) };
}

#[derive(Serialize, Deserialize, macros::Task)]
#[serde(bound = "")]
#[task(crate = leasehold_core, kind = "batch", delivery = at_least_once)]
struct Batch<T: Serialize + DeserializeOwned, const N: usize = 4>
where
    T: Send + 'static,
{
    items: Vec<T>,
}

#[test]
fn a_generic_type_is_a_task_within_its_bounds() {
    assert_eq!(<Batch<String>>::KIND, "batch");
    assert_eq!(<Batch<u8, 2>>::KIND, "batch");
}

/// Names of the prelude and of the model that mean something else here.
mod shadowed {
    #![allow(dead_code, non_camel_case_types, reason = "only the names matter")]

    pub struct str;
    pub struct bool;
    pub struct Delivery;
    pub struct Priority;
    pub struct RetryPolicy;
    pub struct Duration;
    pub mod core {}
    pub mod std {}

    #[derive(serde::Serialize, serde::Deserialize, leasehold_macros::Task)]
    #[task(crate = leasehold_core, kind = "odd", delivery = not_after_loss, accept_loss)]
    #[task(queue = "odd", priority = 1, max_retries = 1, timeout = "1ms")]
    pub struct Task;
}

#[test]
fn other_meanings_of_a_name_do_no_harm() {
    assert_eq!(shadowed::Task::TIMEOUT, Duration::from_millis(1));
}

macro_rules! task {
    ($root:path, $name:ident, $kind:literal, $delivery:ident, $retries:expr) => {
        #[derive(Serialize, Deserialize, macros::Task)]
        #[task(crate = $root, kind = $kind, delivery = $delivery, max_retries = $retries)]
        struct $name;
    };
    ($name:ident, $kind:expr) => {
        #[derive(Serialize, Deserialize, macros::Task)]
        #[task(crate = $crate, kind = $kind, delivery = at_least_once)]
        struct $name;
    };
}

task!(leasehold_core, Made, "made", at_least_once, 3);
task!(Local, "local");

#[test]
fn values_may_come_from_a_macro() {
    assert_eq!(Made::KIND, "made");
    assert_eq!(Made::RETRY, RetryPolicy::at_most(3));
    assert_eq!(Local::KIND, "local");
}
