//! Bringing two replicas level: 0, 1, 10 and 100 mutations apart, with one side ahead and with both; and a new one with all of
//! 1,000 items. memlet and plain `automerge::sync` run in one thread, samod in tasks of its own; all in memory.
//!
//! `cargo bench --manifest-path tests/bench/Cargo.toml --bench level`

use std::time::{Duration, Instant};

use automerge::{Automerge, ChangeHash};
use memlet_bench::ITEMS;
use memlet_bench::device::{End, Pair, recall, remember, sides};
use memlet_bench::exchange::{Cost, exchange, median_cost};
use memlet_bench::measure::{print_table, ratio, shown};
use memlet_bench::plain::{self, PlainSide};
use memlet_bench::repos::{self, Link, Repos, round_trips, runtime};
use tokio::runtime::Runtime;

const ROUNDS: usize = 21;

/// How many items each side has that the other lacks.
const APART: [[u64; 2]; 6] = [[0, 0], [1, 0], [10, 0], [100, 0], [5, 5], [50, 50]];

/// One way of the connection on which samod's round trips are counted: long enough that work does not count as one.
const DELAY: Duration = Duration::from_millis(50);

const HEAD: [&str; 7] = ["apart", "what", "round trips", "messages", "bytes", "time", "memlet / it"];

fn main() {
    let runtime = runtime();
    let peers = Peers { runtime: &runtime, document: plain::document(ITEMS) };

    let pair = Pair::new(ITEMS, true);
    let mut rows = Vec::new();
    let mut wire = Vec::new();
    for apart in APART {
        let mut costs: [Vec<Cost>; 4] = Default::default();
        let mut change_bytes = 0;
        let samod_round_trips = peers.samod(apart, DELAY, 0).round_trips;
        for _ in 0..ROUNDS {
            let (cost, ends) = memlet(&pair, apart);
            change_bytes = ends.iter().map(End::change_bytes_sent).sum();
            costs[0].push(cost);
            costs[1].push(peers.automerge(apart, None));
            costs[2].push(peers.automerge(apart, Some(peers.document.get_heads())));
            costs[3].push(peers.samod(apart, Duration::ZERO, samod_round_trips));
        }
        let costs = costs.map(|costs| median_cost(&costs));
        wire.push((apart, costs[0].bytes as u64, change_bytes));
        let names = ["memlet", "`automerge::sync`", "`automerge::sync`, resumed", "samod"];
        rows.extend(names.iter().zip(costs).map(|(name, cost)| row(shown_apart(apart), name, cost, costs[0])));
    }
    print_table("Level two replicas of 1,000 items", HEAD, &rows);
    print_overhead(&wire);

    let pair = Pair::new(ITEMS, false);
    let mut costs: [Vec<Cost>; 3] = Default::default();
    let samod_round_trips = peers.samod_first(DELAY, 0).round_trips;
    for _ in 0..ROUNDS {
        costs[0].push(memlet_first(&pair));
        costs[1].push(peers.automerge_first());
        costs[2].push(peers.samod_first(Duration::ZERO, samod_round_trips));
    }
    let costs = costs.map(|costs| median_cost(&costs));
    let rows = ["memlet", "`automerge::sync`", "samod"].iter().zip(costs);
    let rows: Vec<_> = rows.map(|(name, cost)| row("all".into(), name, cost, costs[0])).collect();
    print_table("First sync of 1,000 items", HEAD, &rows);
}

fn shown_apart([first, second]: [u64; 2]) -> String {
    format!("{first} + {second}")
}

fn row(apart: String, name: &str, cost: Cost, memlet: Cost) -> [String; 7] {
    [
        apart,
        name.to_owned(),
        cost.round_trips.to_string(),
        cost.messages.to_string(),
        cost.bytes.to_string(),
        shown(cost.elapsed),
        ratio(memlet.elapsed, cost.elapsed),
    ]
}

/// What goes with the changes of memlet on the wire.
fn print_overhead(wire: &[([u64; 2], u64, u64)]) {
    let per_namespace = wire[0].1;
    let rows: Vec<[String; 5]> = wire
        .iter()
        .map(|(apart, bytes, change_bytes)| {
            let beyond = bytes - change_bytes;
            let per_change = beyond.saturating_sub(per_namespace).checked_div(apart.iter().sum());
            let per_change = per_change.map_or("-".to_owned(), |bytes| bytes.to_string());
            [shown_apart(*apart), bytes.to_string(), change_bytes.to_string(), beyond.to_string(), per_change]
        })
        .collect();
    let head = ["apart", "bytes", "of them changes", "beyond", "beyond, per change and without the row for 0"];
    print_table("What memlet sends besides the changes", head, &rows);
}

/// Remembers what each side shall have that the other lacks. Gives how many items that makes.
fn deal(apart: [u64; 2], mut remember: impl FnMut(usize, u64)) -> u64 {
    let [first, second] = apart;
    (ITEMS..ITEMS + first).for_each(|n| remember(0, n));
    (ITEMS + first..ITEMS + first + second).for_each(|n| remember(1, n));
    ITEMS + first + second
}

fn memlet(pair: &Pair, apart: [u64; 2]) -> (Cost, [End; 2]) {
    let devices = pair.devices();
    let items = deal(apart, |side, n| remember(&devices[side], n));
    let mut ends = sides(&devices);
    let cost = exchange(&mut ends);
    assert_eq!(ends.iter().map(End::changes_applied).sum::<u64>(), items - ITEMS, "each change is taken in once");
    assert_eq!(recall(&devices[0]), recall(&devices[1]), "both recall the same");
    assert_eq!(recall(&devices[0]).lines().count() as u64, items, "nothing is lost");
    (cost, ends)
}

fn memlet_first(pair: &Pair) -> Cost {
    let [full, new] = pair.devices();
    let mut ends = sides(&[new.clone(), full.clone()]);
    let cost = exchange(&mut ends);
    assert_eq!(recall(&new), recall(&full), "both recall the same");
    cost
}

/// Plain Automerge and samod, starting from one document.
struct Peers<'a> {
    runtime: &'a Runtime,
    document: Automerge,
}

impl Peers<'_> {
    fn automerge(&self, apart: [u64; 2], resumed: Option<Vec<ChangeHash>>) -> Cost {
        let mut sides = [1, 2].map(|actor| {
            let document = plain::at(actor, &self.document);
            match &resumed {
                Some(level) => PlainSide::resumed(document, level.clone()),
                None => PlainSide::new(document),
            }
        });
        let items = deal(apart, |side, n| plain::remember(sides[side].document(), n));
        let cost = exchange(&mut sides);
        let [first, second] = sides.each_mut().map(|side| plain::recall(side.document()));
        assert_eq!(first, second, "both recall the same");
        assert_eq!(first.lines().count() as u64, items, "nothing is lost");
        cost
    }

    fn automerge_first(&self) -> Cost {
        let mut sides = [PlainSide::new(Automerge::new()), PlainSide::new(self.document.clone())];
        exchange(&mut sides)
    }

    fn samod(&self, apart: [u64; 2], delay: Duration, round_trips_known: usize) -> Cost {
        self.runtime.block_on(async {
            let (repos, documents) = Repos::level(&self.document).await;
            let items = deal(apart, |side, n| repos::remember(&documents[side], n));
            let link = repos.connect(delay).await;
            let start = Instant::now();
            repos::until_level(&documents).await;
            let elapsed = start.elapsed();
            let lines = documents[1].with_document(|document| plain::recall(document).lines().count() as u64);
            assert_eq!(lines, items, "nothing is lost");
            let cost = cost(&link, elapsed, delay, round_trips_known).await;
            repos.stop().await;
            cost
        })
    }

    fn samod_first(&self, delay: Duration, round_trips_known: usize) -> Cost {
        self.runtime.block_on(async {
            let repos = Repos::new().await;
            let full = repos.create(&self.document).await;
            let link = repos.connect(delay).await;
            let start = Instant::now();
            let documents = repos.find(full).await;
            repos::until_level(&documents).await;
            let elapsed = start.elapsed();
            let cost = cost(&link, elapsed, delay, round_trips_known).await;
            repos.stop().await;
            cost
        })
    }
}

/// The cost of what took `elapsed` on `link`. Only a connection with a delay tells round trips.
async fn cost(link: &Link, elapsed: Duration, delay: Duration, round_trips_known: usize) -> Cost {
    link.until_silent().await;
    let (messages, bytes) = link.traffic();
    let round_trips = if delay.is_zero() { round_trips_known } else { round_trips(elapsed, delay) };
    Cost { round_trips, elapsed, messages, bytes }
}
