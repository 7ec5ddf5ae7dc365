//! The rules of the house, as tests over the workspace itself.
//!
//! Use this room for a rule that no lint can hold: which layer may know which, where a vendor's name and a heavy library may
//! appear, how long a file may get. It holds no code; `tests/it` reads the manifests and the sources.
//!
//! Invariants:
//! * An exception has a reason, and the list of exceptions may only shrink.
//!
//! Start reading at `tests/it/layers.rs`.
