//! One namespace stream between two replicas, from `Open` to `Close`.
//!
//! | | initiator | acceptor |
//! |---|---|---|
//! | 1 | `Open`, `State` | |
//! | 2 | | `Open`, `State`, `Auth`, `Changes` |
//! | 3 | `Auth`, `Changes`, `Ack` | |
//! | 4 | | `Ack` |
//! | then | `Changes` and `Auth` as they are committed, `Ack` for them | the same |
//!
//! An acceptor says nothing before it has verified the peer's `Open`; an initiator that does not know the peer to be entitled
//! sends its `State` only after the peer's `Open`, which costs a second round trip. So no statement, change or clock reaches
//! a peer without `sync`.

mod error;
mod exchange;
mod grants;
mod stats;

use memlet_auth::proof::Exporter;
use memlet_core::id::PublicKey;

pub use error::{ProtocolError, SessionError};
pub use stats::{Stats, Traffic};

use self::exchange::Exchange;
use crate::clock::ActorClock;
use crate::code::CloseCode;
use crate::limits::STATE_STATEMENTS_MAX;
use crate::message::{Limits, Message, Open, PROTOCOL_VERSION, State};
use crate::replica::{Entitlement, Fault, Replica};

/// One end of a namespace stream.
///
/// Give it every message of the peer with [`receive`](Session::receive), and after that, after every commit, and whenever
/// the transport can take more, ask for output with [`poll`](Session::poll) until it gives none. Output is made when it is
/// asked for, from the store, so a slow peer holds no memory here. After an error, `poll` gives the `Close` that tells the
/// peer, unless the peer has closed the stream itself; then the session has [ended](Session::ended).
///
/// Every call must be given the replica of one and the same namespace.
#[derive(Debug)]
pub struct Session {
    role: Role,
    peer: PublicKey,
    exporter: Exporter,
    limits: Limits,
    /// Whether the peer may be told what is here, as of the last look; it is looked at again before every message.
    entitled: bool,
    open_sent: bool,
    open_received: bool,
    /// The clock of the `State` that was sent.
    announced: Option<ActorClock>,
    /// The peer's `State`, until there is an exchange.
    shown: Option<State>,
    /// From the moment that both have sent their `State`.
    exchange: Option<Exchange>,
    end: End,
    stats: Stats,
}

/// Why a peer is refused that was let in before.
const GRANT_ENDED: &str = "GRANT_ENDED";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    Initiator,
    Acceptor,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    NotYet,
    /// `Close` is the next output.
    Closing(CloseCode),
    ClosedByUs(CloseCode),
    ClosedByPeer(CloseCode),
}

impl Session {
    /// The end that has opened the stream. `peer` is the device key that the connection has authenticated and `exporter`
    /// belongs to that connection; `limits` are what the peer asks to keep to.
    ///
    /// # Errors
    /// The store fails.
    pub fn initiate(
        replica: &dyn Replica,
        peer: PublicKey,
        exporter: Exporter,
        limits: Limits,
        now_ms: u64,
    ) -> Result<Self, Fault> {
        let entitled = replica.trusts(&peer, now_ms)?;
        Ok(Self::new(Role::Initiator, peer, exporter, limits, entitled))
    }

    /// The end at which the stream has arrived. Its first message, an `Open`, names the namespace of the replica to use; if
    /// that is not here, no session is needed: answer with `Close` and [`CloseCode::Denied`], as if the peer had no right to
    /// it.
    pub fn accept(peer: PublicKey, exporter: Exporter, limits: Limits) -> Self {
        Self::new(Role::Acceptor, peer, exporter, limits, false)
    }

    fn new(role: Role, peer: PublicKey, exporter: Exporter, limits: Limits, entitled: bool) -> Self {
        Self {
            role,
            peer,
            exporter,
            limits,
            entitled,
            open_sent: false,
            open_received: false,
            announced: None,
            shown: None,
            exchange: None,
            end: End::NotYet,
            stats: Stats::default(),
        }
    }

    /// Takes the next message of the peer. `now_ms` is wall-clock time in milliseconds since 1970.
    ///
    /// # Errors
    /// The peer broke the protocol or may not sync, or may no longer, or this side failed. The session then only closes.
    pub fn receive(&mut self, message: Message, now_ms: u64, replica: &mut dyn Replica) -> Result<(), SessionError> {
        self.stats.received.messages += 1;
        match self.end {
            End::NotYet => {}
            End::ClosedByPeer(_) => return Err(ProtocolError::AfterClose(message.name()).into()),
            // it was under way when this side closed
            End::Closing(_) | End::ClosedByUs(_) => return Ok(()),
        }
        let outcome = self.take(message, now_ms, replica);
        outcome.inspect_err(|error| self.end = End::Closing(error.close_code()))
    }

    /// The next message for the peer; none until something is received or committed, or when the session has ended.
    ///
    /// # Errors
    /// The peer may no longer sync, or this side failed. The session then only closes.
    pub fn poll(&mut self, now_ms: u64, replica: &mut dyn Replica) -> Result<Option<Message>, SessionError> {
        let message = match self.end {
            End::NotYet => {
                self.next(now_ms, replica).inspect_err(|error| self.end = End::Closing(error.close_code()))?
            }
            End::Closing(code) => {
                self.end = End::ClosedByUs(code);
                Some(Message::Close(code))
            }
            End::ClosedByUs(_) | End::ClosedByPeer(_) => None,
        };
        self.stats.sent.messages += u64::from(message.is_some());
        Ok(message)
    }

    /// Ends the session from this side: the next output is `Close`, and what the peer still sends is ignored.
    pub fn close(&mut self, code: CloseCode) {
        if self.end == End::NotYet {
            self.end = End::Closing(code);
        }
    }

    /// With which code the session has ended, by either side.
    pub fn ended(&self) -> Option<CloseCode> {
        match self.end {
            End::NotYet | End::Closing(_) => None,
            End::ClosedByUs(code) | End::ClosedByPeer(code) => Some(code),
        }
    }

    /// Whether both sides have sent and acknowledged all that they had for each other when [`poll`](Session::poll) last gave
    /// nothing. What a side refused, parked or held counts as acknowledged: a session may be settled and not level.
    pub fn is_settled(&self) -> bool {
        self.exchange.as_ref().is_some_and(|exchange| exchange.is_settled(&self.stats))
    }

    /// Whether the session is settled and both sides durably hold the same changes.
    ///
    /// # Errors
    /// The store fails.
    pub fn is_level(&self, replica: &dyn Replica) -> Result<bool, Fault> {
        match &self.exchange {
            Some(exchange) if exchange.is_settled(&self.stats) => Ok(*exchange.durable() == replica.clock()?),
            _ => Ok(false),
        }
    }

    /// What the peer durably holds, as far as it has said; none before its `State` was taken in. Against the own clock it
    /// tells how many changes either side is behind ([`ActorClock::changes_beyond`]).
    pub fn peer_clock(&self) -> Option<&ActorClock> {
        self.exchange.as_ref().map(Exchange::durable)
    }

    /// What has been moved and refused so far.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    fn take(&mut self, message: Message, now_ms: u64, replica: &mut dyn Replica) -> Result<(), SessionError> {
        let name = message.name();
        match message {
            Message::Open(open) => self.take_open(&open, now_ms, replica),
            Message::State(state) => self.take_state(state, replica),
            Message::Auth(statements) => {
                let (exchange, stats) = self.exchange(name, now_ms, replica)?;
                exchange.take_auth(statements, now_ms, replica, stats)
            }
            Message::Changes(changes) => {
                let (exchange, stats) = self.exchange(name, now_ms, replica)?;
                exchange.take_changes(changes, now_ms, replica, stats)
            }
            Message::Ack(ack) => {
                let (exchange, stats) = self.exchange(name, now_ms, replica)?;
                exchange.take_ack(&ack, replica, stats)
            }
            Message::Close(code) => {
                self.end = End::ClosedByPeer(code);
                Ok(())
            }
        }
    }

    /// The exchange that the message `name` needs, with a peer that still may.
    fn exchange(
        &mut self,
        name: &'static str,
        now_ms: u64,
        replica: &dyn Replica,
    ) -> Result<(&mut Exchange, &mut Stats), SessionError> {
        self.check_still_entitled(now_ms, replica)?;
        let exchange = self.exchange.as_mut().ok_or(ProtocolError::TooEarly(name))?;
        Ok((exchange, &mut self.stats))
    }

    /// A grant may end while the stream is open: by its time, or by a revocation that came from anywhere.
    fn check_still_entitled(&self, now_ms: u64, replica: &dyn Replica) -> Result<(), SessionError> {
        if self.entitled && !replica.trusts(&self.peer, now_ms)? {
            return Err(SessionError::Denied(GRANT_ENDED));
        }
        Ok(())
    }

    fn take_open(&mut self, open: &Open, now_ms: u64, replica: &mut dyn Replica) -> Result<(), SessionError> {
        if self.open_received {
            return Err(ProtocolError::Repeated("Open").into());
        }
        if self.role == Role::Initiator && !self.open_sent {
            return Err(ProtocolError::TooEarly("Open").into());
        }
        if open.version != PROTOCOL_VERSION {
            return Err(SessionError::Version(open.version));
        }
        if open.namespace != replica.namespace() {
            return Err(ProtocolError::Namespace.into());
        }
        match replica.check_open(open, &self.peer, &self.exporter, now_ms)? {
            Entitlement::Entitled => {}
            Entitlement::Refused(reason) => return Err(SessionError::Denied(reason)),
        }
        self.open_received = true;
        self.entitled = true;
        Ok(())
    }

    fn take_state(&mut self, state: State, replica: &mut dyn Replica) -> Result<(), SessionError> {
        if !self.open_received {
            return Err(ProtocolError::TooEarly("State").into());
        }
        if self.shown.is_some() || self.exchange.is_some() {
            return Err(ProtocolError::Repeated("State").into());
        }
        let ours = replica.state()?.epoch;
        if state.epoch != ours {
            return Err(SessionError::Epoch { ours, theirs: state.epoch });
        }
        self.shown = Some(state);
        self.begin_exchange(replica)
    }

    /// Begins the exchange as soon as both sides have sent their `State`.
    fn begin_exchange(&mut self, replica: &mut dyn Replica) -> Result<(), SessionError> {
        if let Some(announced) = &self.announced
            && let Some(shown) = self.shown.take()
        {
            let announced = announced.clone();
            self.exchange = Some(Exchange::begin(self.peer, self.limits, announced, shown, replica, &mut self.stats)?);
        }
        Ok(())
    }

    fn next(&mut self, now_ms: u64, replica: &mut dyn Replica) -> Result<Option<Message>, SessionError> {
        self.check_still_entitled(now_ms, replica)?;
        if !self.open_sent {
            if self.role == Role::Acceptor && !self.entitled {
                return Ok(None);
            }
            self.open_sent = true;
            // an initiator that may not send its state yet waits for the peer's `Open` first
            self.stats.round_trips += u64::from(!self.entitled);
            return Ok(Some(Message::Open(replica.open(&self.exporter)?)));
        }
        if self.announced.is_none() {
            if !self.entitled {
                return Ok(None);
            }
            let mut state = replica.state()?;
            while state.statements.len() > STATE_STATEMENTS_MAX {
                state.statements.pop_last();
            }
            self.stats.round_trips += 1;
            self.announced = Some(state.clock.clone());
            self.begin_exchange(replica)?;
            return Ok(Some(Message::State(state)));
        }
        match &mut self.exchange {
            Some(exchange) => Ok(exchange.next(replica, &mut self.stats)?),
            None => Ok(None),
        }
    }
}
