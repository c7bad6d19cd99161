//! How replicas become level, and what they learn when they cannot.

use memlet_core::id::EpochId;
use memlet_sync::clock::ActorRef;
use memlet_sync::code::CloseCode;
use memlet_sync::message::{Epoch, Limits, Message};
use memlet_sync::replica::{Divergence, Entitlement};
use memlet_sync::session::SessionError;

use crate::model::{EPOCH, Model};
use crate::pipe::{ACCEPTOR, INITIATOR, Pipe};

/// Two replicas that share 5 changes of each; then the initiator wrote `ahead` more and the acceptor `behind`.
fn apart(ahead: usize, behind: usize) -> [Model; 2] {
    let mut models = [Model::new(1), Model::new(2)];
    for model in &mut models {
        (0..5).for_each(|_| model.write(100));
    }
    Pipe::new(&models, Limits::default()).settle(&mut models);
    (0..ahead).for_each(|_| models[INITIATOR].write(100));
    (0..behind).for_each(|_| models[ACCEPTOR].write(100));
    models
}

fn names(messages: &[Message]) -> Vec<&'static str> {
    messages.iter().map(Message::name).collect()
}

#[test]
fn one_round_trip_brings_two_replicas_level() {
    for (ahead, behind) in [(0, 1), (1, 0), (1, 1), (10, 10), (100, 100), (100, 0), (0, 100)] {
        let mut models = apart(ahead, behind);
        let mut pipe = Pipe::new(&models, Limits::default());
        assert_eq!(names(&pipe.flight(INITIATOR, &mut models)), ["Open", "State"]);
        assert_eq!(names(&pipe.flight(ACCEPTOR, &mut models)), ["Open", "State", "Changes"]);
        assert!(models[INITIATOR].changes().is_superset(&models[ACCEPTOR].changes()), "after one round trip");
        assert_eq!(names(&pipe.flight(INITIATOR, &mut models)), ["Ack", "Changes"]);
        assert_eq!(models[INITIATOR].changes(), models[ACCEPTOR].changes(), "what the initiator sent has arrived");
        assert_eq!(names(&pipe.flight(ACCEPTOR, &mut models)), ["Ack"]);
        assert!(pipe.are_level(&models));
        assert_eq!(pipe.settle(&mut models), 0);

        let [initiator, acceptor] = pipe.sessions.map(|session| session.stats().clone());
        assert_eq!((initiator.round_trips, acceptor.round_trips), (1, 1));
        assert_eq!((initiator.sent.changes, initiator.applied), (ahead as u64, behind as u64));
        assert_eq!((acceptor.sent.changes, acceptor.applied), (behind as u64, ahead as u64));
        assert_eq!((initiator.known, acceptor.known), (0, 0));
    }
}

#[test]
fn statements_come_before_the_changes_that_need_them() {
    let mut models = apart(0, 0);
    for model in &mut models {
        model.add_grant(1);
        model.write(100);
    }
    let mut pipe = Pipe::new(&models, Limits::default());
    pipe.flight(INITIATOR, &mut models);
    assert_eq!(names(&pipe.flight(ACCEPTOR, &mut models)), ["Open", "State", "Auth", "Changes"]);
    assert_eq!(names(&pipe.flight(INITIATOR, &mut models)), ["Auth", "Ack", "Changes"]);
    pipe.settle(&mut models);
    assert!(pipe.are_level(&models));
    assert_eq!(models[0].statements(), models[1].statements());
    assert_eq!((models[0].parked(), models[1].parked()), (0, 0));
}

#[test]
fn a_stranger_is_told_nothing_before_it_has_proved_itself() {
    let mut models = apart(3, 4);
    models[INITIATOR].trusts = false;
    let mut pipe = Pipe::new(&models, Limits::default());
    assert_eq!(names(&pipe.flight(INITIATOR, &mut models)), ["Open"]);
    assert_eq!(names(&pipe.flight(ACCEPTOR, &mut models)), ["Open", "State"]);
    assert_eq!(names(&pipe.flight(INITIATOR, &mut models)), ["State", "Changes"]);
    pipe.settle(&mut models);
    assert!(pipe.are_level(&models));
    assert_eq!(pipe.sessions[INITIATOR].stats().round_trips, 2);
}

#[test]
fn a_peer_whose_grant_ends_is_told_and_taken_nothing_more() {
    for ended in [INITIATOR, ACCEPTOR] {
        for speaks in [true, false] {
            let mut models = apart(3, 4);
            let mut pipe = Pipe::new(&models, Limits::default());
            pipe.settle(&mut models);
            let before = models[1 - ended].changes();
            models[1 - ended].trusts = false;
            if speaks {
                models[ended].write(10);
                pipe.send(ended, &mut models).unwrap().unwrap();
                let error = pipe.deliver(1 - ended, usize::MAX, &mut models).unwrap_err();
                assert!(matches!(error, SessionError::Denied("GRANT_ENDED")), "{error}");
                assert_eq!(models[1 - ended].changes(), before);
            } else {
                models[1 - ended].write(10);
                let error = pipe.send(1 - ended, &mut models).unwrap_err();
                assert!(matches!(error, SessionError::Denied("GRANT_ENDED")), "{error}");
            }
            assert_eq!(pipe.flight(1 - ended, &mut models), [Message::Close(CloseCode::Denied)]);
            assert_eq!(pipe.sessions[ended].ended(), Some(CloseCode::Denied));
        }
    }
}

#[test]
fn case_79_a_peer_without_sync_gets_a_code_and_nothing_else() {
    for refusing in [INITIATOR, ACCEPTOR] {
        let mut models = apart(3, 4);
        models[INITIATOR].trusts = false;
        models[refusing].entitlement = Entitlement::Refused("GRANT_WINDOW");
        let mut pipe = Pipe::new(&models, Limits::default());
        let mut told = Vec::new();
        let error = loop {
            for side in [INITIATOR, ACCEPTOR] {
                while let Some(message) = pipe.send(side, &mut models).unwrap() {
                    if side == refusing {
                        told.push(message);
                    }
                }
            }
            if let Err(error) = pipe.deliver(refusing, usize::MAX, &mut models) {
                break error;
            }
            pipe.deliver(1 - refusing, usize::MAX, &mut models).unwrap();
        };
        assert!(matches!(error, SessionError::Denied("GRANT_WINDOW")));
        assert_eq!(error.code(), "GRANT_WINDOW");
        told.extend(pipe.flight(refusing, &mut models));
        assert_eq!(told.last(), Some(&Message::Close(CloseCode::Denied)));
        assert!(names(&told).iter().all(|name| ["Open", "Close"].contains(name)), "{:?}", names(&told));
        assert_eq!(pipe.sessions[1 - refusing].ended(), Some(CloseCode::Denied));
    }
}

#[test]
fn what_is_committed_later_follows_at_once() {
    let mut models = apart(0, 0);
    let mut pipe = Pipe::new(&models, Limits::default());
    pipe.settle(&mut models);
    for side in [INITIATOR, ACCEPTOR] {
        models[side].write(100);
        assert!(!pipe.are_level(&models));
        assert_eq!(names(&pipe.flight(side, &mut models)), ["Changes"]);
        assert!(!pipe.sessions[1 - side].is_settled(), "it has not acknowledged yet");
        assert_eq!(names(&pipe.flight(1 - side, &mut models)), ["Ack"]);
        assert!(pipe.are_level(&models));
    }
    models[ACCEPTOR].add_grant(9);
    assert_eq!(names(&pipe.flight(ACCEPTOR, &mut models)), ["Auth"]);
    assert_eq!(names(&pipe.flight(INITIATOR, &mut models)), ["Ack"]);
    assert_eq!(pipe.settle(&mut models), 0);
    assert!(pipe.are_level(&models));
    assert_eq!(models[0].statements(), models[1].statements());
}

#[test]
fn a_change_that_came_another_way_is_acknowledged() {
    let mut models = apart(0, 0);
    let mut pipe = Pipe::new(&models, Limits::default());
    pipe.settle(&mut models);
    let mut others = [Model::new(3), models[ACCEPTOR].clone()];
    others[0].write(100);
    Pipe::new(&others, Limits::default()).settle(&mut others);
    let [third, acceptor] = others;
    models[ACCEPTOR] = acceptor;
    let mut to_initiator = [third, models[INITIATOR].clone()];
    Pipe::new(&to_initiator, Limits::default()).settle(&mut to_initiator);
    models[INITIATOR] = to_initiator[1].clone();
    // both hold the change of the third now; what either tells the other, the other need not send again
    pipe.flight(INITIATOR, &mut models);
    pipe.settle(&mut models);
    assert!(pipe.are_level(&models));
    assert_eq!(pipe.sessions[INITIATOR].stats().applied, 0);
}

#[test]
fn a_change_that_was_refused_and_came_after_all_is_acknowledged() {
    let mut models = apart(1, 0);
    models[ACCEPTOR].refuses = Some(models[INITIATOR].actor);
    let mut pipe = Pipe::new(&models, Limits::default());
    pipe.settle(&mut models);
    assert!(!pipe.are_level(&models));
    models[ACCEPTOR].refuses = None;
    Pipe::new(&models, Limits::default()).settle(&mut models);
    assert_eq!(names(&pipe.flight(ACCEPTOR, &mut models)), ["Ack"]);
    assert!(pipe.are_level(&models));
}

#[test]
fn a_side_is_settled_only_when_both_have_everything() {
    let limits = Limits { frame_bytes: 1 << 10, batch_bytes: 1 << 10 };
    // the order in which the sides may say one message each, over and over
    for order in [[INITIATOR, ACCEPTOR, ACCEPTOR], [ACCEPTOR, INITIATOR, INITIATOR], [INITIATOR, INITIATOR, ACCEPTOR]] {
        let mut models = [Model::new(1), Model::new(2)];
        models.iter_mut().for_each(|model| (0..30).for_each(|_| model.write(300)));
        let mut pipe = Pipe::new(&models, limits);
        let check = |pipe: &Pipe, models: &[Model; 2]| {
            for session in pipe.sessions.iter().filter(|session| session.is_settled()) {
                assert_eq!(models[0].changes(), models[1].changes(), "{:?}", session.stats());
            }
        };
        for side in order.into_iter().cycle().take(300) {
            pipe.send(side, &mut models).unwrap();
            check(&pipe, &models);
            pipe.deliver(1 - side, usize::MAX, &mut models).unwrap();
            check(&pipe, &models);
        }
        assert!(pipe.are_level(&models));
    }
}

#[test]
fn a_session_that_cannot_become_level_is_settled_and_says_why() {
    let mut models = apart(3, 4);
    models[ACCEPTOR].refuses = Some(models[INITIATOR].actor);
    let mut pipe = Pipe::new(&models, Limits::default());
    pipe.settle(&mut models);
    for side in [INITIATOR, ACCEPTOR] {
        assert!(pipe.sessions[side].is_settled());
        assert!(!pipe.sessions[side].is_level(&models[side]).unwrap());
    }
    assert_eq!(pipe.sessions[ACCEPTOR].stats().refused.get("NOT_ALLOWED"), Some(&3));
    let peer_clock = pipe.sessions[INITIATOR].peer_clock().unwrap();
    assert_eq!(models[INITIATOR].clock_now().changes_beyond(peer_clock), 3);
    assert_eq!(peer_clock.changes_beyond(&models[INITIATOR].clock_now()), 0);
}

#[test]
fn different_epochs_end_the_stream_with_their_code() {
    let mut models = apart(3, 4);
    let next = Epoch { number: 1, id: EpochId([9; 32]) };
    models[INITIATOR].epoch = next;
    let mut pipe = Pipe::new(&models, Limits::default());
    while pipe.send(INITIATOR, &mut models).unwrap().is_some() {}
    let error = pipe.deliver(ACCEPTOR, usize::MAX, &mut models).unwrap_err();
    assert!(matches!(error, SessionError::Epoch { ours, theirs } if ours == EPOCH && theirs == next));
    assert_eq!(pipe.flight(ACCEPTOR, &mut models), [Message::Close(CloseCode::Epoch)]);
    assert_eq!(pipe.sessions[INITIATOR].ended(), Some(CloseCode::Epoch));
}

#[test]
fn a_restored_replica_learns_that_it_is_one() {
    let mut models = apart(3, 0);
    Pipe::new(&models, Limits::default()).settle(&mut models);
    let actor = models[INITIATOR].actor;
    let lost = models[INITIATOR].clock_now().get(&actor).unwrap();
    // its own first 5 changes are the first of its log
    models[INITIATOR] = models[INITIATOR].restored_to(5);
    let mut pipe = Pipe::new(&models, Limits::default());
    pipe.settle(&mut models);
    assert_eq!(models[INITIATOR].divergences, [Divergence::Ahead { actor, theirs: lost }]);
    assert!(models[ACCEPTOR].divergences.is_empty());
    assert_eq!(models[INITIATOR].changes(), models[ACCEPTOR].changes(), "what was lost has come back");
}

#[test]
fn a_fork_is_seen_wherever_the_branches_end_and_not_sent_on() {
    // (changes written after the copy by the original, by the copy)
    for (original, copy) in [(2, 2), (3, 1), (1, 3)] {
        let mut models = apart(0, 0);
        let actor = models[INITIATOR].actor;
        let mut copied = models[INITIATOR].clone();
        (0..original).for_each(|_| models[INITIATOR].write(100));
        Pipe::new(&models, Limits::default()).settle(&mut models);
        (0..copy).for_each(|_| copied.write(99));
        models[INITIATOR] = copied;
        let mut pipe = Pipe::new(&models, Limits::default());
        pipe.settle(&mut models);
        let seen_by = |model: &Model| {
            let of_actor = |divergence: &&Divergence| match divergence {
                Divergence::Ahead { actor: found, .. } | Divergence::Fork { actor: found, .. } => *found == actor,
            };
            model.divergences.iter().filter(of_actor).count()
        };
        assert!(seen_by(&models[INITIATOR]) > 0, "{original} and {copy}: the copy learns of it");
        assert_eq!(seen_by(&models[ACCEPTOR]) > 0, copy <= original, "{original} and {copy}");
        assert!(!pipe.are_level(&models));
        for session in &pipe.sessions {
            assert_eq!(session.stats().received.changes, 0, "no branch is sent to where it cannot stand");
        }
    }
}

#[test]
fn a_failing_store_closes_the_stream() {
    for (side, sends_first) in [(INITIATOR, true), (ACCEPTOR, false)] {
        let mut models = apart(3, 4);
        let mut pipe = Pipe::new(&models, Limits::default());
        if !sends_first {
            while pipe.send(INITIATOR, &mut models).unwrap().is_some() {}
        }
        models[side].broken = true;
        let error = if sends_first {
            pipe.send(side, &mut models).map(|_| ())
        } else {
            pipe.deliver(side, usize::MAX, &mut models).map(|_| ())
        }
        .unwrap_err();
        assert!(matches!(error, SessionError::Replica(_)));
        assert_eq!(error.to_string(), "this side cannot go on: the disk is gone");
        assert_eq!(pipe.flight(side, &mut models).last(), Some(&Message::Close(CloseCode::Internal)));
        assert_eq!(pipe.sessions[1 - side].ended(), Some(CloseCode::Internal));
    }
}

#[test]
fn a_large_first_sync_streams_in_bounded_batches() {
    let limits = Limits { frame_bytes: 1 << 10, batch_bytes: 1 << 10 };
    let mut models = [Model::new(1), Model::new(2)];
    (0..200).for_each(|index| models[ACCEPTOR].write(index * 20));
    models[ACCEPTOR].write(1 << 20);
    let mut pipe = Pipe::new(&models, limits);
    pipe.settle(&mut models);
    assert!(pipe.are_level(&models));
    assert_eq!(models[INITIATOR].changes().len(), 201);
    assert!(pipe.sessions[ACCEPTOR].stats().sent.batches > 100);
    assert_eq!(pipe.sessions[INITIATOR].stats().round_trips, 1);
    assert_eq!(models[INITIATOR].clock_now().seq(&ActorRef([2; 16])), 201);
}
