//! The gateway as process 1 sees it: the other end of the socket that is standard error.

use std::os::fd::{AsFd as _, OwnedFd};
use std::sync::{Arc, OnceLock};

use super::{Stop, terminal};
use crate::plan::size;

/// The terminal that new sizes are for, once there is one.
pub(super) type Window = Arc<OnceLock<OwnedFd>>;

/// Ends all if the gateway goes, and passes new sizes on to the terminal.
pub(super) fn watch() -> Result<Window, Stop> {
    let window = Window::default();
    let terminal = Arc::clone(&window);
    std::thread::Builder::new()
        .stack_size(64 << 10)
        .spawn(move || {
            while let Some(heard) = hear() {
                if let Some(terminal) = terminal.get() {
                    terminal::resize(terminal, size::heard(heard));
                }
            }
            std::process::exit(125);
        })
        .map(|_| window)
        .map_err(|source| Stop::Failed(format!("the gateway can't be watched: {source}")))
}

/// The next size; none if the gateway is gone.
fn hear() -> Option<[u8; size::LENGTH]> {
    let gateway = std::io::stderr();
    let mut heard = [0; size::LENGTH];
    let mut length = 0;
    while length < heard.len() {
        let room = heard.get_mut(length..)?;
        match rustix::io::read(gateway.as_fd(), room) {
            Ok(0) => return None,
            Ok(more) => length += more,
            Err(rustix::io::Errno::INTR) => {}
            Err(_gone) => return None,
        }
    }
    Some(heard)
}
