//! Medians, and the rows in which they are reported.

use std::time::{Duration, Instant};

/// The middle of the samples; of an even number, the upper of the two.
///
/// # Panics
/// There are none.
pub fn median<T: Ord + Copy>(mut samples: Vec<T>) -> T {
    samples.sort_unstable();
    samples[samples.len() / 2]
}

/// How long `work` takes.
pub fn timed<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let start = Instant::now();
    let output = work();
    (start.elapsed(), output)
}

/// The median of each of several measurements, taken in turns so that whatever slows the machine slows all of them. A tenth
/// of the rounds goes before, uncounted.
pub fn in_turns<const N: usize>(rounds: usize, mut work: [&mut dyn FnMut() -> Duration; N]) -> [Duration; N] {
    let warm_up = rounds.div_ceil(10);
    let mut samples = [const { Vec::new() }; N];
    for round in 0..warm_up + rounds {
        for (work, samples) in work.iter_mut().zip(&mut samples) {
            let elapsed = work();
            if round >= warm_up {
                samples.push(elapsed);
            }
        }
    }
    samples.map(median)
}

/// Prints a table as Markdown.
pub fn print_table<const N: usize>(title: &str, head: [&str; N], rows: &[[String; N]]) {
    println!("\n{title}\n\n| {} |\n|{}", head.join(" | "), "---|".repeat(N));
    for row in rows {
        println!("| {} |", row.join(" | "));
    }
}

/// A duration for a table.
pub fn shown(duration: Duration) -> String {
    let micros = duration.as_secs_f64() * 1e6;
    match micros {
        ..100.0 => format!("{micros:.1} µs"),
        ..1_000.0 => format!("{micros:.0} µs"),
        _ => format!("{:.2} ms", micros / 1e3),
    }
}

/// How many times `peer` one duration is.
pub fn ratio(duration: Duration, peer: Duration) -> String {
    format!("{:.2}", duration.as_secs_f64() / peer.as_secs_f64())
}
