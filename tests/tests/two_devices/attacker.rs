//! A peer that does in the handshake what everyone does, and after it says what a test tells it to.

use std::net::SocketAddr;

use memlet_auth::keys::SigningKey;
use memlet_auth::proof::open_proof;
use memlet_core::codec::{Encode, Writer};
use memlet_core::id::{NamespaceId, PublicKey};
use memlet_node::Environment as _;
use memlet_server::home::SystemEnvironment;
use memlet_server::quic::{Connection, Endpoint, EndpointOptions, FrameStream, Identity, Incoming, StreamError};
use memlet_sync::code::CloseCode;
use memlet_sync::message::{Control, Hello, Limits, Message, Open, PROTOCOL_VERSION};
use memlet_sync::name::DeviceName;
use memlet_tests::PATIENCE;
use tokio::time::timeout;

/// A key that nobody knows.
pub(crate) fn fresh_key() -> SigningKey {
    let mut secret = [0; 32];
    SystemEnvironment.fill_random(&mut secret);
    SigningKey::from_bytes(&secret)
}

/// What this peer calls itself.
pub(crate) fn name() -> DeviceName {
    DeviceName::new("attacker").unwrap()
}

/// A peer that has greeted a server.
pub(crate) struct Attacker {
    key: SigningKey,
    pub(crate) connection: Connection,
    pub(crate) control: FrameStream,
    _sockets: (Endpoint, Incoming),
}

impl Attacker {
    /// Greets the server at `address` as the device of `key`.
    pub(crate) async fn greet(key: SigningKey, address: SocketAddr) -> Self {
        let sockets = Endpoint::bind(Identity::new(key.clone()), &EndpointOptions::default(), |_| {}).unwrap();
        let connection = sockets.0.dial(address, None).await.unwrap();
        let mut control = connection.open().await.unwrap();
        control.outgoing.put(&Control::Hello(Hello::new(Limits::default(), Vec::new(), name())));
        control.outgoing.flush().await.unwrap();
        let answer = within(control.incoming.next()).await.unwrap();
        assert!(matches!(answer, Some(Control::Hello(_))), "{answer:?}");
        Self { key, connection, control, _sockets: sockets }
    }

    pub(crate) fn device(&self) -> PublicKey {
        self.key.public()
    }

    /// Opens a stream for `namespace`, with `chain` to show.
    pub(crate) async fn open(&self, namespace: NamespaceId, chain: Vec<Vec<u8>>) -> FrameStream {
        let proof = open_proof(&self.key, &namespace, &self.connection.exporter());
        self.say(&Message::Open(Open { version: PROTOCOL_VERSION, namespace, chain, proof })).await
    }

    /// Opens a stream with a message.
    pub(crate) async fn say(&self, message: &impl Encode) -> FrameStream {
        let mut stream = self.connection.open().await.unwrap();
        stream.outgoing.put(message);
        stream.outgoing.flush().await.unwrap();
        stream
    }
}

/// What is written in place of a message.
pub(crate) struct Forged(pub(crate) fn(&mut Writer));

impl Encode for Forged {
    fn encode(&self, w: &mut Writer) {
        (self.0)(w);
    }
}

/// How the server ends a stream, whatever it says before.
pub(crate) async fn ended(stream: &mut FrameStream) -> CloseCode {
    loop {
        match within(stream.incoming.next()).await {
            Ok(Some(Message::Close(code))) | Err(StreamError::Aborted(code)) => return code,
            Ok(Some(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}

/// What `happens`, which must be soon.
pub(crate) async fn within<T>(happens: impl Future<Output = T>) -> T {
    timeout(PATIENCE, happens).await.expect("it happens in time")
}
