//! The far end of a connection's leash: a shell there that ends what it is told to, and everything when it hears no more.

use std::collections::HashMap;
use std::time::Duration;

use russh::client::Msg;
use russh::{ChannelMsg, ChannelReadHalf, ChannelWriteHalf};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, timeout};

/// So often it hears that somebody is still there; it gives up after 90 seconds.
const BEAT: Duration = Duration::from_secs(20);

/// How long a line may take to be on its way there.
const SENDING: Duration = Duration::from_secs(20);

/// How long ending may take: what the kernel holds can't be ended at once.
const ENDING: Duration = Duration::from_secs(8);

/// Most bytes of a line that it says.
const LINE: usize = 8 << 10;

struct Word {
    what: String,
    done: oneshot::Sender<bool>,
}

/// Speaks to it. When the last of these is gone, everything that the connection started is ended there.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    to: mpsc::UnboundedSender<Word>,
}

impl std::fmt::Debug for Word {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.what)
    }
}

impl Watch {
    /// Takes the channel of a watch that said it is ready; the future must be run until it ends.
    pub(crate) fn over(
        read: ChannelReadHalf,
        write: ChannelWriteHalf<Msg>,
    ) -> (Self, impl Future<Output = ()> + Send) {
        let (to, words) = mpsc::unbounded_channel();
        (Self { to }, talk(read, write, words))
    }

    /// Nobody listens there any more.
    pub(crate) fn is_gone(&self) -> bool {
        self.to.is_closed()
    }

    /// Orders the end of all processes whose environment holds a text. It is carried out though nobody waits for it.
    pub(crate) fn order(&self, what: &str) -> impl Future<Output = bool> + Send + use<> {
        let (done, heard) = oneshot::channel();
        let sent = self.to.send(Word {
            what: what.to_owned(),
            done,
        });
        async move { sent.is_ok() && matches!(timeout(ENDING, heard).await, Ok(Ok(true))) }
    }
}

async fn talk(
    mut read: ChannelReadHalf,
    write: ChannelWriteHalf<Msg>,
    mut words: mpsc::UnboundedReceiver<Word>,
) {
    let mut waiting: HashMap<String, Vec<oneshot::Sender<bool>>> = HashMap::new();
    let mut said = Vec::new();
    let mut beat = interval(BEAT);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            word = words.recv() => {
                let Some(Word { what, done }) = word else { break };
                let line = format!("end {what}\n");
                waiting.entry(what).or_default().push(done);
                if !says(&write, line.into_bytes()).await { break }
            }
            _ = beat.tick() => {
                if !says(&write, b"\n".to_vec()).await { break }
            }
            message = read.wait() => match message {
                Some(ChannelMsg::Data { data }) => {
                    for byte in data {
                        if byte == b'\n' {
                            hear(&String::from_utf8_lossy(&said), &mut waiting);
                            said.clear();
                        } else if said.len() < LINE {
                            said.push(byte);
                        }
                    }
                }
                Some(ChannelMsg::Close) | None => break,
                Some(_) => {}
            },
        }
    }
    // The connection may be gone already: then it hears the end by itself.
    if matches!(timeout(SENDING, write.eof()).await, Ok(Ok(()))) {
        while let Some(message) = read.wait().await {
            if matches!(message, ChannelMsg::Close) {
                break;
            }
        }
    }
}

/// Sends a line; `false` if the connection is gone, or takes nothing.
async fn says(write: &ChannelWriteHalf<Msg>, line: Vec<u8>) -> bool {
    matches!(timeout(SENDING, write.data_bytes(line)).await, Ok(Ok(())))
}

fn hear(line: &str, waiting: &mut HashMap<String, Vec<oneshot::Sender<bool>>>) {
    let Some((how, what)) = line.split_once(' ') else {
        return;
    };
    let clear = match how {
        "clear" => true,
        "alive" => false,
        _ => return,
    };
    for done in waiting.remove(what).unwrap_or_default() {
        // Who ordered it need not wait for it.
        done.send(clear).unwrap_or_default();
    }
}
