//! Cutting a failing plan down to the steps that it needs to fail.

use crate::failure::Checker;
use crate::plan::Plan;
use crate::world::run;

/// Leaves out steps for as long as the plan still fails by the same checker, in at most `runs_max` runs (Zeller and
/// Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002).
pub fn shrink(plan: &Plan, checker: Checker, runs_max: usize) -> Plan {
    let fails = |plan: &Plan| run(plan, false).failure.is_some_and(|failure| failure.checker == checker);
    let mut smallest = plan.clone();
    let mut runs = 0;
    let mut chunk = smallest.steps.len().div_ceil(2);
    while chunk > 0 {
        let mut start = 0;
        let mut is_smaller = false;
        while start < smallest.steps.len() && runs < runs_max {
            let mut candidate = smallest.clone();
            let end = (start + chunk).min(candidate.steps.len());
            candidate.steps.drain(start..end);
            runs += 1;
            if fails(&candidate) {
                smallest = candidate;
                is_smaller = true;
            } else {
                start = end;
            }
        }
        if runs >= runs_max {
            break;
        }
        if !is_smaller || chunk > 1 {
            chunk /= 2;
        }
    }
    smallest
}
