//! Reaching one device under whichever of its addresses answers first.

use std::time::Duration;

use memlet_core::id::PublicKey;
use memlet_sync::name::Address;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::quic::connection::Connection;
use crate::quic::endpoint::Endpoint;
use crate::quic::error::DialError;

/// How long an address is given before the next is tried beside it (RFC 8305, section 8).
const HEAD_START: Duration = Duration::from_millis(250);

impl Endpoint {
    /// Connects to `device` at one of `addresses`, best first. Each gets a head start over the next, so that a dead one
    /// delays little.
    ///
    /// # Errors
    /// None of them leads to the device. The error is the first that says more than that nobody answers.
    pub async fn dial_any(&self, device: PublicKey, addresses: &[Address]) -> Result<Connection, DialError> {
        let mut attempts = JoinSet::new();
        for (address, place) in addresses.iter().zip(0..) {
            let (endpoint, address) = (self.clone(), address.clone());
            attempts.spawn(async move {
                sleep(HEAD_START * place).await;
                endpoint.dial_name(&address, device).await
            });
        }
        let mut failure = DialError::NoAddress(device);
        while let Some(attempt) = attempts.join_next().await {
            match attempt {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(error)) if matches!(failure, DialError::NoAddress(_) | DialError::NoAnswer(_)) => {
                    failure = error
                }
                Ok(Err(_)) | Err(_) => {}
            }
        }
        Err(failure)
    }

    async fn dial_name(&self, address: &Address, device: PublicKey) -> Result<Connection, DialError> {
        let resolved = tokio::net::lookup_host(address.as_str()).await;
        let resolved = resolved.map_err(|source| DialError::Resolve { address: address.clone(), source })?;
        let mut failure = DialError::NoAddress(device);
        for address in resolved {
            match self.dial(address, Some(device)).await {
                Ok(connection) => return Ok(connection),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}
