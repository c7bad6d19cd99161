//! Runs simulations from the command line.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use memlet_sim::campaign::{Campaign, campaign};
use memlet_sim::plan::{Plan, Profile, generate};
use memlet_sim::shrink::shrink;
use memlet_sim::world::run;

/// Runs seeds, or one seed or plan in detail.
#[derive(Parser)]
struct Arguments {
    /// How many seeds to run.
    #[arg(long, default_value_t = 300)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Runs until this much time has passed, such as 60m or 90s, instead of a number of seeds.
    #[arg(long, value_parser = duration)]
    budget: Option<Duration>,
    /// Seeds at the same time.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Worlds of 200 devices.
    #[arg(long)]
    wide: bool,
    /// Runs this seed alone; if it fails, cuts its plan down and prints what is left and what happened.
    #[arg(long, conflicts_with_all = ["budget", "plan"])]
    seed: Option<u64>,
    /// Runs this plan alone, in the same way.
    #[arg(long)]
    plan: Option<PathBuf>,
    /// Where to write the plan that is left.
    #[arg(long)]
    save: Option<PathBuf>,
    /// Prints every event of the one run also if it does not fail.
    #[arg(long)]
    events: bool,
}

/// Runs that shrinking may take.
const SHRINK_RUNS_MAX: usize = 2_000;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let profile = if arguments.wide { Profile::Wide } else { Profile::Standard };
    let plan = match (&arguments.plan, arguments.seed) {
        (Some(path), _) => match std::fs::read_to_string(path).map_err(|error| error.to_string()) {
            Ok(text) => Plan::from_text(&text).map_err(|error| error.to_string()),
            Err(error) => Err(error),
        },
        (None, Some(seed)) => Ok(generate(seed, profile)),
        (None, None) => return many(&arguments, profile),
    };
    match plan {
        Ok(plan) => one(&arguments, &plan),
        Err(error) => fail(&format!("the plan cannot be read: {error}")),
    }
}

/// One run in detail.
fn one(arguments: &Arguments, plan: &Plan) -> ExitCode {
    let ran = run(plan, arguments.events);
    let Some(failure) = ran.failure else {
        show(&ran.events.concat());
        show(&format!("holds after {} steps, trace {}\n", plan.steps.len(), ran.hash));
        return ExitCode::SUCCESS;
    };
    let smallest = shrink(plan, failure.checker, SHRINK_RUNS_MAX);
    let again = run(&smallest, true);
    show(&again.events.concat());
    show(&format!("{} of {} steps are enough for it to fail\n", smallest.steps.len(), plan.steps.len()));
    if let Some(path) = &arguments.save
        && let Err(error) = std::fs::write(path, smallest.to_text())
    {
        return fail(&format!("the plan cannot be written: {error}"));
    }
    ExitCode::FAILURE
}

/// Many seeds.
fn many(arguments: &Arguments, profile: Profile) -> ExitCode {
    let began = Instant::now();
    let enough = |seed: u64| match arguments.budget {
        Some(budget) => began.elapsed() >= budget,
        None => seed >= arguments.first + arguments.seeds,
    };
    let total = campaign(arguments.first, arguments.jobs, profile, enough);
    show(&report(&total, began.elapsed()));
    for (seed, failure) in &total.failures {
        let wide = if arguments.wide { " --wide" } else { "" };
        show(&format!(
            "seed {seed} fails: {failure}\n  cargo run --release -p memlet-sim --{wide} --seed {seed} # replays and shrinks it\n"
        ));
    }
    if total.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn report(total: &Campaign, took: Duration) -> String {
    let hours = total.tally.get("simulated ms") as f64 / 3_600_000.0;
    let mut text = format!("{} seeds, {hours:.1} simulated hours, in {:.1} s\n", total.seeds, took.as_secs_f64());
    for (what, times) in total.tally.iter() {
        text += &format!("{times:>14} {what}\n");
    }
    text
}

fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.trim_end_matches(char::is_alphabetic).len());
    let number: u64 = number.parse().map_err(|_| format!("{text} is no number with a unit"))?;
    match unit {
        "s" => Ok(Duration::from_secs(number)),
        "m" => Ok(Duration::from_secs(60 * number)),
        "h" => Ok(Duration::from_secs(3_600 * number)),
        _ => Err(format!("{unit} is none of s, m and h")),
    }
}

#[expect(clippy::print_stdout, reason = "the report is what this program is for")]
fn show(text: &str) {
    print!("{text}");
}

#[expect(clippy::print_stderr, reason = "the terminal is all there is to tell of a failure")]
fn fail(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}
