//! Sentinels: they tell the master, and have the replica take over.

use super::*;

#[tokio::test]
async fn the_sentinels_elect_the_replica() {
    for product in BOTH {
        let all = Sentinels::start_new(product).await.unwrap_or_else(|error| panic!("{error}"));
        let [first, second] = all.servers();
        assert_eq!(all.master().await.expect("they agree"), first.address());
        write(first, "SET kept 1").await;

        first.kill().expect("it runs");
        let new = all.failover().await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(new, second.address());
        assert_eq!(all.master().await.expect("they agree"), second.address());
        assert_eq!(tell(second, "GET kept").await, "1");
        assert_eq!(tell(second, "INCR kept").await, "2");

        first.start().await.unwrap_or_else(|error| panic!("{error}"));
        all.settled().await.unwrap_or_else(|error| panic!("{error}"));
        assert!(refused(first, "INCR kept").await.contains("READONLY"));
        assert_eq!(tell(first, "GET kept").await, "2");

        // By order, while the master runs.
        let back = all.failover().await.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(back, first.address());
    }
}
