//! End-to-end tests of the memlet executable live in `tests/`.
