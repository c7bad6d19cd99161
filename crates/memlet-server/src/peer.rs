//! One connection to one peer: its control stream, and a link for every namespace that both sides may hold.
//!
//! The side that dialled opens the links, the other answers, and either answers whatever the peer opens. A link that fails
//! takes no other with it.

use std::collections::BTreeMap;
use std::time::Duration;

use memlet_core::id::{NamespaceId, PublicKey};
use memlet_node::{Node, Peer as KnownPeer};
use memlet_sync::code::{CloseCode, RejectCode};
use memlet_sync::message::{Control, Hello};
use memlet_sync::replica::{Fault, Replica as _};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use crate::blocking::{Crashed, blocking};
use crate::door::Door;
use crate::greeting::{GreetError, Side, greet};
use crate::link::{Ends, Goal, SyncError, SyncOutcome};
use crate::local::Local;
use crate::quic::{Connection, FrameStream, StreamError};

/// How soon a namespace whose link has ended is tried again on the same connection.
const REOPEN_AFTER: Duration = Duration::from_secs(30);
/// How often it is looked for namespaces that are yet to be opened, however much changes.
const LOOK_AT_MOST_EVERY: Duration = Duration::from_millis(250);
/// How long a peer that has come may hold its place without a namespace to sync.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// How long a peer may take to hang up once it has been told goodbye.
const GOODBYE_WITHIN: Duration = Duration::from_secs(1);

/// A peer that has greeted.
pub(crate) struct Peer {
    local: Local,
    connection: Connection,
    pub(crate) control: FrameStream,
    hello: Hello,
    links: JoinSet<(Option<NamespaceId>, Result<SyncOutcome, SyncError>)>,
    /// The last link of each namespace; none while it runs.
    namespaces: BTreeMap<NamespaceId, Option<EndedLink>>,
}

struct EndedLink {
    at: Instant,
    outcome: Result<SyncOutcome, SyncError>,
}

/// Which namespaces this side opens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Opening {
    /// When each link is to end.
    pub(crate) goal: Goal,
    /// Whether the owner named this peer. One that was only met is shown no namespace that it is not known to hold.
    pub(crate) named: bool,
    /// This one alone.
    pub(crate) only: Option<NamespaceId>,
}

/// How the namespaces stood when the connection ended.
pub(crate) type Outcomes = BTreeMap<NamespaceId, Result<SyncOutcome, SyncError>>;

impl Peer {
    /// Greets the other end of `connection`, which is closed if it does not answer in kind.
    pub(crate) async fn greet(local: &Local, connection: Connection, side: Side) -> Result<Self, GreetError> {
        match greet(&connection, side, &local.hello).await {
            Ok((control, hello)) => {
                let local = local.clone();
                let peer =
                    Self { local, connection, control, hello, links: JoinSet::new(), namespaces: BTreeMap::new() };
                peer.remember_if_trusted().await;
                Ok(peer)
            }
            Err(error) => {
                if error.is_refusal() {
                    local.node.count_refusal(error.code());
                }
                connection.close(error.close_code());
                Err(error)
            }
        }
    }

    /// The connection to it.
    pub(crate) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Answers what the peer opens and asks, until the connection ends or this node stops.
    pub(crate) async fn answer(mut self, door: Option<&Door>) -> Outcomes {
        self.serve(None, door).await;
        self.end().await
    }

    /// Opens links too, until each has settled if that is the goal, else as [`Peer::answer`].
    pub(crate) async fn open(mut self, opening: Opening) -> Outcomes {
        self.serve(Some(opening), None).await;
        self.end().await
    }

    /// Remembers the peer by what it says of itself. It must be one that this node has reason to meet again.
    pub(crate) async fn remember(&self) {
        let (node, known) = (self.local.node.clone(), self.as_known());
        note(blocking(move || node.remember_peer(known)).await);
    }

    /// Any stranger may greet, but only who shares a namespace leaves a trace.
    async fn remember_if_trusted(&self) {
        let (node, known) = (self.local.node.clone(), self.as_known());
        let remembered = blocking(move || match shared_namespaces(&node, &known.device)?.is_empty() {
            true => Ok(()),
            false => node.remember_peer(known).map_err(Fault::new),
        });
        note(remembered.await);
    }

    fn as_known(&self) -> KnownPeer {
        KnownPeer {
            device: self.connection.peer(),
            name: self.hello.name.to_string(),
            addresses: self.hello.addresses.iter().map(ToString::to_string).collect(),
            last_seen_ms: self.local.node.environment().now_ms(),
        }
    }

    async fn serve(&mut self, opening: Option<Opening>, door: Option<&Door>) {
        let mut stopping = self.local.stopping();
        let mut changed = self.local.wakes.watch_any();
        let live = opening.filter(|opening| opening.goal == Goal::Live);
        if let Some(opening) = &opening {
            self.open_missing(opening).await;
        }
        let mut looked = Instant::now();
        loop {
            let stopped = *stopping.borrow();
            let idle = self.links.is_empty();
            if idle && stopped {
                return self.say_goodbye(CloseCode::Shutdown).await;
            }
            if idle && opening.is_some() && live.is_none() {
                return self.say_goodbye(CloseCode::Done).await;
            }
            tokio::select! {
                stream = self.connection.accept() => match stream {
                    Ok(stream) if stopped => stream.abort(CloseCode::Shutdown),
                    Ok(stream) => self.answer_stream(stream),
                    Err(_) => return,
                },
                message = self.control.incoming.next() => {
                    if let Err(code) = self.take_control(message, door).await {
                        return self.connection.close(code);
                    }
                }
                Some(ended) = self.links.join_next() => self.note_link(ended),
                () = news(&mut changed, looked), if live.is_some() && !stopped => {
                    if let Some(opening) = &live {
                        self.open_missing(opening).await;
                    }
                    looked = Instant::now();
                }
                () = sleep(IDLE_MAX), if idle && opening.is_none() => {
                    return self.say_goodbye(CloseCode::Timeout).await;
                }
                Ok(()) = stopping.changed(), if !stopped => {}
            }
        }
    }

    /// Tells the peer that all has been said, and lets it hang up, so that it has surely heard.
    async fn say_goodbye(&mut self, code: CloseCode) {
        let (outgoing, incoming) = (&mut self.control.outgoing, &mut self.control.incoming);
        outgoing.put(&Control::Close(code));
        let heard = async {
            outgoing.flush().await?;
            while !matches!(incoming.next().await?, None | Some(Control::Close(_))) {}
            Ok::<(), StreamError>(())
        };
        // a peer that does not hang up, or is gone already, is hung up on
        drop(timeout(GOODBYE_WITHIN, heard).await);
        self.connection.close(code);
    }

    /// Waits for the links, which end with the connection at the latest.
    async fn end(mut self) -> Outcomes {
        while let Some(ended) = self.links.join_next().await {
            self.note_link(ended);
        }
        self.namespaces.into_iter().filter_map(|(id, link)| Some((id, link?.outcome))).collect()
    }

    /// Opens a link for every namespace that should have one and has none.
    async fn open_missing(&mut self, opening: &Opening) {
        let (node, device, Opening { named, only, .. }) = (self.local.node.clone(), self.connection.peer(), *opening);
        let wanted = blocking(move || match (only, named) {
            (Some(only), _) => Ok(vec![only]),
            (None, true) => node.namespaces().map_err(Fault::new),
            (None, false) => shared_namespaces(&node, &device),
        });
        let wanted = match wanted.await {
            Ok(Ok(wanted)) => wanted,
            Ok(Err(fault)) => return tracing::warn!(%fault, "the namespaces cannot be listed"),
            Err(_) => return,
        };
        for namespace in wanted {
            let due = match self.namespaces.get(&namespace) {
                None => true,
                Some(None) => false,
                Some(Some(link)) => link.at.elapsed() >= REOPEN_AFTER,
            };
            if due {
                self.namespaces.insert(namespace, None);
                let link = self.ends().open(namespace, opening.goal);
                self.links.spawn(async move { (Some(namespace), link.await) });
            }
        }
    }

    fn answer_stream(&mut self, stream: FrameStream) {
        self.links.spawn(self.ends().answer(stream));
    }

    fn ends(&self) -> Ends {
        let Self { local, connection, hello, .. } = self;
        Ends { local: local.clone(), connection: connection.clone(), limits: hello.limits }
    }

    fn note_link(&mut self, ended: Result<(Option<NamespaceId>, Result<SyncOutcome, SyncError>), JoinError>) {
        let Ok((namespace, outcome)) = ended else {
            return tracing::error!("a link did not return");
        };
        match &outcome {
            Ok(outcome) => tracing::debug!(code = %outcome.code, level = outcome.level, "a link has ended"),
            Err(error) => {
                tracing::debug!(%error, "a link has failed");
                if error.is_refusal() {
                    self.local.node.count_refusal(error.code());
                }
            }
        }
        if let Some(namespace) = namespace {
            self.namespaces.insert(namespace, Some(EndedLink { at: Instant::now(), outcome }));
        }
    }

    /// Deals with what came on the control stream. On an error the connection is to be closed.
    async fn take_control(
        &mut self,
        message: Result<Option<Control>, StreamError>,
        door: Option<&Door>,
    ) -> Result<(), CloseCode> {
        let refuse = |code: CloseCode| {
            self.local.node.count_refusal(code.code());
            code
        };
        match message {
            Ok(Some(Control::Join(join))) => {
                let decision = match door {
                    Some(door) => door.knock(&self.local.node, &self.connection, join).await,
                    // to tell no invite from a wrong one would tell of invites
                    None => Ok(Control::Reject(RejectCode::WrongSecret)),
                };
                let answer = decision.map_err(|fault| {
                    tracing::warn!(%fault, "a device could not be let in");
                    CloseCode::Internal
                })?;
                if let Control::Reject(code) = &answer {
                    self.local.node.count_refusal(code.code());
                }
                self.control.outgoing.put(&answer);
                self.control.outgoing.flush().await.map_err(|error| error.close_code().unwrap_or(CloseCode::Done))?;
                if let Control::Welcome(_) = &answer {
                    self.remember().await;
                }
                Ok(())
            }
            Ok(Some(Control::Close(_))) => Err(CloseCode::Done),
            Ok(Some(_) | None) => Err(refuse(CloseCode::Protocol)),
            Err(error) => Err(error.close_code().map_or(CloseCode::Done, refuse)),
        }
    }
}

/// Waits until a namespace may have to be opened: something has changed, or long enough has passed to try again. A burst of
/// changes counts once.
async fn news(changed: &mut watch::Receiver<()>, looked: Instant) {
    sleep_until(looked + LOOK_AT_MOST_EVERY).await;
    // an error means that nothing will change any more
    drop(timeout_at(looked + REOPEN_AFTER, changed.changed()).await);
}

fn note<E: std::fmt::Display>(remembered: Result<Result<(), E>, Crashed>) {
    if let Ok(Err(error)) = remembered {
        tracing::warn!(%error, "a peer could not be remembered");
    }
}

/// The namespaces here that `device` is known to have a right to.
fn shared_namespaces(node: &Node, device: &PublicKey) -> Result<Vec<NamespaceId>, Fault> {
    let now_ms = node.environment().now_ms();
    let mut shared = Vec::new();
    for id in node.namespaces().map_err(Fault::new)? {
        if node.namespace(id).map_err(Fault::new)?.replica().trusts(device, now_ms)? {
            shared.push(id);
        }
    }
    Ok(shared)
}
