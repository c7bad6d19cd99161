//! The command line on one device, through the real executable.

mod cli {
    mod demo;
    mod directory;
    mod forms;
    mod memory;
    mod parallel;
    mod text;
    mod usage;
}
