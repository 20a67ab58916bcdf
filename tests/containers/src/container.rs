//! [`Container`]: a server alone in a container.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use leasehold_conformance::servers::redis::{Connection, Product};
use testcontainers::core::WaitFor;
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, GenericImage, ImageExt};

/// Far above what a start takes, on a machine that builds at the same time.
const START_LIMIT: Duration = Duration::from_secs(60);

/// Enough to see a full disk, or one that was too slow.
const LOG_LINES_MAX: usize = 30;

/// A Redis or Valkey server in a container, with an append-only file and no snapshots, as the
/// private servers of the suite are.
#[derive(Debug)]
pub struct Container {
    container: ContainerAsync<GenericImage>,
    address: SocketAddr,
}

impl Container {
    /// Starts a server from the image `NAME:VERSION`.
    ///
    /// # Errors
    /// When there is no engine or no such image; when the server does not come up; when it says
    /// that it is another version.
    pub async fn start_new(product: Product, image: &str) -> Result<Self, Box<dyn Error>> {
        let (name, tag) = image.rsplit_once(':').ok_or_else(|| format!("{image} has no tag"))?;
        let address = free_address()?;
        let port = address.port().to_string();
        let container = GenericImage::new(name, tag)
            .with_wait_for(WaitFor::message_on_stdout("Ready to accept connections"))
            // The loopback interface of this machine, and no bridge: an engine need not have one.
            .with_network("host")
            .with_cmd(["--bind", "127.0.0.1", "--port", &port, "--save", "", "--appendonly", "yes"])
            .with_startup_timeout(START_LIMIT)
            .start()
            .await
            .map_err(|error| format!("{image} does not start: {error}"))?;
        let version = version(product, address).await?;
        if version == tag {
            Ok(Self { container, address })
        } else {
            Err(format!("{image} has {} {version}", product.name()).into())
        }
    }

    /// Where clients connect.
    pub fn url(&self) -> String {
        format!("redis://{}/", self.address)
    }

    /// The last lines of what the server wrote.
    ///
    /// # Errors
    /// When the engine does not answer, or refuses.
    pub async fn log(&self) -> Result<String, Box<dyn Error>> {
        let text = self.container.stdout_to_vec().await?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines: Vec<_> = text.lines().collect();
        Ok(lines[lines.len().saturating_sub(LOG_LINES_MAX)..].join("\n"))
    }

    /// Ends the server and removes its container.
    ///
    /// # Errors
    /// When the engine does not answer, or refuses.
    pub async fn end(self) -> Result<(), Box<dyn Error>> {
        Ok(self.container.rm().await?)
    }
}

/// Somebody else may take it before the server does, which then does not start.
fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

async fn version(product: Product, address: SocketAddr) -> Result<String, Box<dyn Error>> {
    let info = Connection::open(address).await?.ask(&["INFO", "server"]).await?.text();
    let field = format!("{}_version:", product.name());
    let version = info.lines().find_map(|line| line.strip_prefix(&field));
    let version = version.ok_or_else(|| format!("{address} is no {}: {info}", product.name()))?;
    Ok(version.to_owned())
}
