//! One remembered item while two replicas of 1,000 items are connected: how long until the other holds it, and what crosses.
//! Everything is in memory; each replica has a thread of its own.
//!
//! `cargo bench --manifest-path tests/bench/Cargo.toml --bench live`

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use memlet_bench::ITEMS;
use memlet_bench::device::{self, Pair, sides};
use memlet_bench::exchange::{Side, exchange};
use memlet_bench::measure::{in_turns, print_table, ratio, shown};
use memlet_bench::plain::{self, PlainSide};
use memlet_bench::repos::{self, Repos, runtime};

const ROUNDS: usize = 500;

fn main() {
    let devices = Pair::new(ITEMS, true).devices();
    let writer = devices[0].clone();
    let mut memlet = Connected::new(sides(&devices), move |_, n| device::remember(&writer, n));

    let document = plain::document(ITEMS);
    let ends = [1, 2].map(|actor| PlainSide::new(plain::at(actor, &document)));
    let mut automerge = Connected::new(ends, |side: &mut PlainSide, n| plain::remember(side.document(), n));

    let runtime = runtime();
    let (repos, documents) = runtime.block_on(Repos::level(&document));
    let link = runtime.block_on(repos.connect(Duration::ZERO));
    runtime.block_on(link.until_silent());
    let samod_before = link.traffic();
    let mut n = ITEMS;
    let mut samod = || {
        n += 1;
        runtime.block_on(async {
            let start = Instant::now();
            repos::remember(&documents[1], n);
            repos::until_level(&documents).await;
            let elapsed = start.elapsed();
            link.until_acknowledged(&documents[1]).await;
            elapsed
        })
    };

    let medians = in_turns(ROUNDS, [&mut || memlet.remember(), &mut || automerge.remember(), &mut samod]);
    runtime.block_on(link.until_silent());
    let samod_after = link.traffic();
    let items = n - ITEMS;
    let samod = (samod_after.0 - samod_before.0, samod_after.1 - samod_before.1);
    let row = |name: &str, elapsed, (messages, bytes): (usize, usize)| {
        let each = |count: usize| format!("{:.1}", count as f64 / items as f64);
        [name.to_owned(), shown(elapsed), ratio(medians[0], elapsed), each(messages), each(bytes)]
    };
    print_table(
        "One item while connected",
        ["what", "time until the other holds it, p50", "memlet / it", "messages", "bytes"],
        &[
            row("memlet", medians[0], memlet.traffic),
            row("`automerge::sync`", medians[1], automerge.traffic),
            row("samod", medians[2], samod),
        ],
    );
}

/// What came of one message.
struct Answer<H> {
    /// When it had been taken in.
    at: Instant,
    /// What was held then.
    held: H,
    messages: Vec<Vec<u8>>,
}

/// Two sides that are level, the second in a thread of its own.
struct Connected<S: Side, W> {
    side: S,
    write: W,
    n: u64,
    to_other: Sender<Vec<u8>>,
    from_other: Receiver<Answer<S::Held>>,
    /// Messages and bytes both ways.
    traffic: (usize, usize),
}

impl<S: Side<Held: Send> + Send + 'static, W: FnMut(&mut S, u64)> Connected<S, W> {
    fn new(mut sides: [S; 2], write: W) -> Self {
        exchange(&mut sides);
        let [side, mut other] = sides;
        let (to_other, messages) = channel::<Vec<u8>>();
        let (answers, from_other) = channel();
        thread::spawn(move || {
            for message in messages {
                other.hear(&message);
                let at = Instant::now();
                let answer = Answer { at, held: other.held(), messages: other.say() };
                if answers.send(answer).is_err() {
                    return;
                }
            }
        });
        Self { side, write, n: ITEMS, to_other, from_other, traffic: (0, 0) }
    }

    /// Remembers one more item here. Gives how long it took until the other held it.
    fn remember(&mut self) -> Duration {
        self.n += 1;
        let start = Instant::now();
        (self.write)(&mut self.side, self.n);
        let mut arrived = None;
        loop {
            let messages = self.side.say();
            if messages.is_empty() {
                return arrived.expect("the other holds it when there is no more to say") - start;
            }
            for message in messages {
                self.count(&message);
                self.to_other.send(message).expect("the other listens");
                let answer = self.from_other.recv().expect("the other answers");
                if arrived.is_none() && answer.held == self.side.held() {
                    arrived = Some(answer.at);
                }
                for message in answer.messages {
                    self.count(&message);
                    self.side.hear(&message);
                }
            }
        }
    }

    fn count(&mut self, message: &[u8]) {
        self.traffic.0 += 1;
        self.traffic.1 += message.len();
    }
}
