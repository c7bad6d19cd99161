//! Two replicas that write, send, receive and lose their connection in any order.

use memlet_sync::limits::{BATCH_BYTES_MIN, FRAME_BYTES_MIN};
use memlet_sync::message::Limits;
use proptest::prelude::*;

use crate::model::Model;
use crate::pipe::Pipe;

#[derive(Clone, Debug)]
enum Step {
    Write(usize, usize),
    Grant(usize),
    Send(usize),
    Deliver(usize, usize),
    /// The connection is cut, with all that is on its way, also inside a frame, and comes back.
    Cut,
}

fn step() -> impl Strategy<Value = Step> {
    let side = || 0..2_usize;
    prop_oneof![
        4 => (side(), 0..400_usize).prop_map(|(side, bytes)| Step::Write(side, bytes)),
        1 => (side(), 400..5_000_usize).prop_map(|(side, bytes)| Step::Write(side, bytes)),
        1 => side().prop_map(Step::Grant),
        8 => side().prop_map(Step::Send),
        8 => (side(), 1..3_000_usize).prop_map(|(side, bytes)| Step::Deliver(side, bytes)),
        1 => Just(Step::Cut),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn two_replicas_always_become_level(
        steps in proptest::collection::vec(step(), 0..150),
        trusts in any::<bool>(),
    ) {
        // small limits, so that their edges are crossed all the time
        let limits = Limits { frame_bytes: FRAME_BYTES_MIN, batch_bytes: BATCH_BYTES_MIN };
        let mut models = [Model::new(1), Model::new(2)];
        models[0].trusts = trusts;
        let mut pipe = Pipe::new(&models, limits);
        let (mut written, mut granted, mut applied) = (0_u64, 0, 0);
        for step in steps {
            match step {
                Step::Write(side, bytes) => {
                    models[side].write(bytes);
                    written += 1;
                }
                Step::Grant(side) => {
                    granted += 1;
                    models[side].add_grant(granted);
                }
                Step::Send(side) => {
                    pipe.send(side, &mut models).unwrap();
                }
                Step::Deliver(side, bytes) => {
                    pipe.deliver(side, bytes, &mut models).unwrap();
                }
                Step::Cut => {
                    applied += pipe.sessions.iter().map(|session| session.stats().applied).sum::<u64>();
                    pipe = Pipe::new(&models, limits);
                }
            }
        }
        let messages = pipe.settle(&mut models);
        applied += pipe.sessions.iter().map(|session| session.stats().applied).sum::<u64>();

        prop_assert!(pipe.are_level(&models));
        prop_assert_eq!(models[0].changes(), models[1].changes());
        prop_assert_eq!(models[0].statements(), models[1].statements());
        prop_assert_eq!(models[0].changes().len() as u64, written);
        prop_assert_eq!(applied, written, "every change crossed, and had an effect, once");
        for session in &pipe.sessions {
            let stats = session.stats();
            prop_assert_eq!(stats.known, 0, "no change was sent to where it is");
            prop_assert_eq!((stats.parked, stats.refused.len()), (0, 0));
            prop_assert_eq!(stats.divergences, 0);
        }
        prop_assert!(messages as u64 <= 12 + 2 * (written + granted), "{} messages", messages);
    }
}
