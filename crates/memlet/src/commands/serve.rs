//! Staying reachable until stopped.

use std::net::SocketAddr;

use memlet_server::quic::Identity;
use memlet_server::{ServeOptions, Server};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use crate::context::{Context, Memory};
use crate::failure::Failure;
use crate::network;

pub(super) fn serve(context: &Context, listen: &[SocketAddr]) -> Result<(), Failure> {
    let Memory { home, .. } = context.begin()?;
    let node = home.node();
    let identity = Identity::new(home.device_key().clone());
    let options = ServeOptions {
        name: network::device_name(),
        endpoint: network::listen(listen, &node.device()),
        peers: Vec::new(),
    };
    network::runtime()?.block_on(async {
        // From before the addresses are told: who reads them may stop this process at once.
        let stopped = stop_signal()?;
        let server = Server::bind(node.clone(), identity, options)?;
        let addresses: Vec<String> = server.announced().iter().map(ToString::to_string).collect();
        context.output.result(&json!({"addresses": addresses}), |_| addresses.join("\n"))?;
        server.run(stopped).await?;
        let refused = node.refusals();
        if !refused.is_empty() {
            let counts: Vec<_> = refused.iter().map(|(code, times)| format!("{code} {times}")).collect();
            context.output.note(&format!("refused while serving: {}", counts.join(", ")));
        }
        context.output.result(&json!({"refused": refused}), |_| String::new())
    })
}

/// Resolves at the first SIGINT or SIGTERM after this call.
fn stop_signal() -> Result<impl Future<Output = ()>, Failure> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Failure::System)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(Failure::System)?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}
