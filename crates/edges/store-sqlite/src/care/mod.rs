//! Care for the database: that it lies where it can be kept, that it is the one that was left, that it is whole, that a
//! full disk leaves room for last words, and that there is a copy.
//!
//! Nothing here repairs a database: what is found is told, and the file is left as it is.

mod backup;
mod ballast;
mod check;
mod generation;
mod ground;

pub use backup::{BackupError, Copied};
pub(crate) use ballast::Reserve;
pub use ballast::{Ballast, Stock};
pub use generation::{Entered, GenerationError};
pub(crate) use ground::look as look_at_ground;
