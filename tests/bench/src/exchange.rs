//! Two sides of a protocol without sockets, brought level in one thread, with everything that crosses between them counted.

use std::time::{Duration, Instant};

use crate::measure::median;

/// One side of a protocol that speaks in messages.
pub trait Side {
    /// What a side holds; two that hold the same are level.
    type Held: PartialEq;

    /// Everything it has to say now. A message stands as it would on a stream of bytes, with its length before it.
    fn say(&mut self) -> Vec<Vec<u8>>;

    /// Takes a message of the other side.
    fn hear(&mut self, message: &[u8]);

    /// What it holds now.
    fn held(&self) -> Self::Held;
}

/// What it cost to bring two sides level.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// How many answers the side that spoke first had to wait for.
    pub round_trips: usize,
    /// From the first word until both held the same.
    pub elapsed: Duration,
    /// Messages both ways, until both were silent.
    pub messages: usize,
    /// Bytes both ways, until both were silent.
    pub bytes: usize,
}

/// The median of each part of several costs.
pub fn median_cost(costs: &[Cost]) -> Cost {
    Cost {
        round_trips: median(costs.iter().map(|cost| cost.round_trips).collect()),
        elapsed: median(costs.iter().map(|cost| cost.elapsed).collect()),
        messages: median(costs.iter().map(|cost| cost.messages).collect()),
        bytes: median(costs.iter().map(|cost| cost.bytes).collect()),
    }
}

/// Lets both sides speak in turn, the first one first, until neither has anything to say.
///
/// # Panics
/// They are silent and do not hold the same.
pub fn exchange<S: Side>(sides: &mut [S; 2]) -> Cost {
    let start = Instant::now();
    let mut level = None;
    let (mut messages, mut bytes, mut flights, mut silent) = (0, 0, 0, 0);
    while silent < 2 {
        let [first, second] = &mut *sides;
        let (speaker, listener) = if flights % 2 == 0 { (first, second) } else { (second, first) };
        let said = speaker.say();
        silent = if said.is_empty() { silent + 1 } else { 0 };
        for message in said {
            messages += 1;
            bytes += message.len();
            listener.hear(&message);
        }
        flights += 1;
        // Sides that are level from the start do not know it before they have heard of each other.
        if level.is_none() && flights > 1 && sides[0].held() == sides[1].held() {
            level = Some((flights / 2, start.elapsed()));
        }
    }
    let (round_trips, elapsed) = level.expect("two sides that have nothing more to say are level");
    Cost { round_trips, elapsed, messages, bytes }
}
