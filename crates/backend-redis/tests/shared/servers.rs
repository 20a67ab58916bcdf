//! The servers that the tests run on, which end with the test.

use leasehold_conformance::servers::redis::{self, Cluster, ClusterOptions, Product, RedisOptions};

/// A private server, with its log synced when the system likes to: no test here pulls the plug.
#[derive(Debug)]
pub struct Redis(redis::Redis);

impl Redis {
    /// Starts a server with these words of its command line beside the usual.
    pub async fn start_new(arguments: &[&str]) -> Self {
        let options = RedisOptions::new(Product::Redis).with_arguments(arguments);
        Self(redis::Redis::start_new(options).await.expect("a server starts"))
    }

    pub fn url(&self) -> String {
        self.0.url()
    }

    /// Host and port.
    pub fn address(&self) -> std::net::SocketAddr {
        self.0.address()
    }
}

/// The server that was named for tests, else a private one.
#[derive(Debug)]
pub struct Found(redis::Found);

impl Found {
    pub async fn find() -> Self {
        Self::of(Product::Redis).await
    }

    pub async fn of(product: Product) -> Self {
        Self(redis::Found::find(product).await.expect("a server is found or starts"))
    }

    pub fn url(&self) -> String {
        self.0.url()
    }
}

/// Three masters without replicas, by the URL of the store.
pub async fn cluster(product: Product) -> (Cluster, String) {
    let options = ClusterOptions::new(product).with_replicas(0);
    let cluster = Cluster::start_new(options).await.expect("a cluster starts");
    let nodes: Vec<_> = cluster.nodes().iter().map(|node| node.address().to_string()).collect();
    (cluster, format!("redis-cluster://{}", nodes.join(",")))
}
