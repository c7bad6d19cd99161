//! The world level: a plan fixes the run, to the last event.

use memlet_sim::plan::{Profile, generate};
use memlet_sim::world::run;

#[test]
fn the_same_plan_gives_the_same_run() {
    for seed in [3, 16] {
        let plan = generate(seed, Profile::Standard);
        let (one, other) = (run(&plan, false), run(&plan, false));
        assert_eq!(one.failure, None, "seed {seed}");
        assert_eq!(one.hash, other.hash, "seed {seed}");
    }
    let hash = |seed| run(&generate(seed, Profile::Standard), false).hash;
    assert_ne!(hash(3), hash(16));
}
