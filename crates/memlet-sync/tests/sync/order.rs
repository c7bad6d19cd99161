//! Messages that come out of order, twice or from the wrong side.

use memlet_auth::keys::Signature;
use memlet_auth::proof::Exporter;
use memlet_core::id::{NamespaceId, PublicKey};
use memlet_sync::clock::{ActorClock, ActorRef, ChangeRef, Tip};
use memlet_sync::code::CloseCode;
use memlet_sync::limits::CLOCK_ACTORS_MAX;
use memlet_sync::message::{Ack, Changes, Limits, Message, Open, State};
use memlet_sync::replica::Replica as _;
use memlet_sync::session::{ProtocolError, Session, SessionError};

use crate::model::Model;
use crate::pipe::{EXPORTER, NOW_MS};

fn open() -> Message {
    Message::Open(Model::new(9).open(&EXPORTER).unwrap())
}

fn state() -> Message {
    Message::State(Model::new(9).state().unwrap())
}

fn changes() -> Message {
    Message::Changes(Changes { grants: Vec::new(), entries: Vec::new(), more: false })
}

fn ack(received: u64) -> Message {
    Message::Ack(Ack { received, durable: ActorClock::default() })
}

fn close() -> Message {
    Message::Close(CloseCode::Done)
}

/// A session, its replica, and messages with which it is fed, its output drained after each.
struct Feed {
    session: Session,
    replica: Model,
}

impl Feed {
    fn acceptor() -> Self {
        Self { session: Session::accept(PublicKey([1; 32]), EXPORTER, Limits::default()), replica: Model::new(1) }
    }

    /// An initiator that has not spoken yet.
    fn initiator() -> Self {
        let replica = Model::new(1);
        let session = Session::initiate(&replica, PublicKey([1; 32]), EXPORTER, Limits::default(), NOW_MS).unwrap();
        Self { session, replica }
    }

    fn drain(&mut self) -> Vec<Message> {
        std::iter::from_fn(|| self.session.poll(NOW_MS, &mut self.replica).unwrap()).collect()
    }

    fn take(&mut self, message: Message) -> Result<Vec<Message>, SessionError> {
        self.session.receive(message, NOW_MS, &mut self.replica)?;
        Ok(self.drain())
    }

    /// The error of the last of `messages`, all others being in order.
    fn broken_by(mut self, messages: Vec<Message>) -> ProtocolError {
        let last = messages.len() - 1;
        for (index, message) in messages.into_iter().enumerate() {
            match self.take(message) {
                Ok(_) if index < last => {}
                Err(SessionError::Protocol(error)) if index == last => {
                    if self.session.ended().is_none() {
                        assert!(matches!(
                            self.drain()[..],
                            [Message::Close(CloseCode::Protocol | CloseCode::TooLarge)]
                        ));
                    }
                    assert!(self.drain().is_empty());
                    return error;
                }
                other => panic!("message {index}: {other:?}"),
            }
        }
        unreachable!("the last message returns")
    }
}

#[test]
fn nothing_comes_before_open_and_state() {
    for (message, name) in
        [(state(), "State"), (changes(), "Changes"), (ack(0), "Ack"), (Message::Auth(Vec::new()), "Auth")]
    {
        assert_eq!(Feed::acceptor().broken_by(vec![message.clone()]), ProtocolError::TooEarly(name));
        if name != "State" {
            assert_eq!(Feed::acceptor().broken_by(vec![open(), message.clone()]), ProtocolError::TooEarly(name));
            let mut speaking = Feed::initiator();
            speaking.drain();
            assert_eq!(speaking.broken_by(vec![open(), message]), ProtocolError::TooEarly(name));
        }
    }
}

#[test]
fn the_acceptor_does_not_speak_first() {
    assert_eq!(Feed::initiator().broken_by(vec![open()]), ProtocolError::TooEarly("Open"));
    assert!(Feed::acceptor().drain().is_empty());
}

#[test]
fn open_and_state_come_once() {
    assert_eq!(Feed::acceptor().broken_by(vec![open(), open()]), ProtocolError::Repeated("Open"));
    assert_eq!(Feed::acceptor().broken_by(vec![open(), state(), state()]), ProtocolError::Repeated("State"));
    assert_eq!(Feed::acceptor().broken_by(vec![open(), state(), changes(), open()]), ProtocolError::Repeated("Open"));
}

#[test]
fn nothing_comes_after_close() {
    assert_eq!(Feed::acceptor().broken_by(vec![close(), open()]), ProtocolError::AfterClose("Open"));
    let messages = vec![open(), state(), close(), changes()];
    assert_eq!(Feed::acceptor().broken_by(messages), ProtocolError::AfterClose("Changes"));
    assert_eq!(Feed::acceptor().broken_by(vec![close(), close()]), ProtocolError::AfterClose("Close"));
}

#[test]
fn a_close_is_the_last_word() {
    let mut by_peer = Feed::acceptor();
    by_peer.take(open()).unwrap();
    assert!(by_peer.take(Message::Close(CloseCode::Busy)).unwrap().is_empty());
    assert_eq!(by_peer.session.ended(), Some(CloseCode::Busy));
    by_peer.session.close(CloseCode::Done);
    assert!(by_peer.drain().is_empty());

    let mut by_us = Feed::acceptor();
    by_us.take(open()).unwrap();
    by_us.session.close(CloseCode::Shutdown);
    assert_eq!(by_us.session.ended(), None);
    assert_eq!(by_us.drain(), [Message::Close(CloseCode::Shutdown)]);
    assert_eq!(by_us.session.ended(), Some(CloseCode::Shutdown));
    // under way when this side closed
    assert!(by_us.take(state()).unwrap().is_empty());
    assert!(by_us.take(Message::Close(CloseCode::Done)).unwrap().is_empty());
}

#[test]
fn an_open_fits_its_stream() {
    let changed = |change: fn(&mut Open)| {
        let mut open = Model::new(9).open(&EXPORTER).unwrap();
        change(&mut open);
        Feed::acceptor().take(Message::Open(open)).unwrap_err()
    };
    let error = changed(|open| open.version = 2);
    assert!(matches!(error, SessionError::Version(2)));
    assert_eq!(error.close_code(), CloseCode::Version);
    let error = changed(|open| open.namespace = NamespaceId([1; 32]));
    assert!(matches!(error, SessionError::Protocol(ProtocolError::Namespace)));
    let error = changed(|open| open.proof = Signature([0; 64]));
    assert!(matches!(error, SessionError::Denied("BAD_PROOF")));
    let replayed = Model::new(9).open(&Exporter([4; 32])).unwrap();
    let error = Feed::acceptor().take(Message::Open(replayed)).unwrap_err();
    assert!(matches!(error, SessionError::Denied("BAD_PROOF")));
}

#[test]
fn an_ack_is_for_what_was_sent() {
    // the answer to a state is one `Auth` and one `Changes`
    let acknowledged = |messages| Feed::acceptor().broken_by(messages);
    let beyond = ProtocolError::Acknowledged { acknowledged: 3, from: 0, to: 2 };
    assert_eq!(acknowledged(vec![open(), state(), ack(3)]), beyond);
    let back = ProtocolError::Acknowledged { acknowledged: 1, from: 2, to: 2 };
    assert_eq!(acknowledged(vec![open(), state(), ack(2), ack(1)]), back);
}

#[test]
fn a_peer_names_only_so_many_actors() {
    let named = |range: std::ops::Range<usize>| -> ActorClock {
        let tip = Tip { seq: 1, change: ChangeRef([1; 8]) };
        let actor = |index: usize| ActorRef(*[&[0xff; 8][..], &index.to_be_bytes()].concat().first_chunk().unwrap());
        range.map(|index| (actor(index), tip)).collect()
    };
    let durable = |clock| Message::Ack(Ack { received: 0, durable: clock });
    let full = State { clock: named(0..CLOCK_ACTORS_MAX), ..Model::new(9).state().unwrap() };
    let again = durable(named(0..CLOCK_ACTORS_MAX));
    let one_more = durable(named(CLOCK_ACTORS_MAX..CLOCK_ACTORS_MAX + 1));
    let messages = vec![open(), Message::State(full), again, one_more];
    assert_eq!(Feed::acceptor().broken_by(messages), ProtocolError::TooManyActors);
}
