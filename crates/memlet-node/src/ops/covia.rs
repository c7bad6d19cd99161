//! `v/ops/covia/*`: reading and writing any JSON in the workspace by path.

pub(super) mod reads;
pub(super) mod writes;
