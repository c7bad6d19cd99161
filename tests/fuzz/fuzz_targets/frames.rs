#![no_main]

use libfuzzer_sys::fuzz_target;
use memlet_tests::fuzzing;

fuzz_target!(init: fuzzing::allow_caught_panics(), |data: &[u8]| fuzzing::run("frames", data));
