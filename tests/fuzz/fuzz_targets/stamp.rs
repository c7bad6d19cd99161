#![no_main]

use libfuzzer_sys::fuzz_target;
use memlet_tests::fuzzing;

fuzz_target!(init: fuzzing::remember_panics(), |data: &[u8]| fuzzing::fuzz("stamp", data));
