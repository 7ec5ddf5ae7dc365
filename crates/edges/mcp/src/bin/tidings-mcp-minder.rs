//! The minder alone, for this crate's own tests. The gateway's binary calls the same function from its `main`.

fn main() {
    let command: Vec<String> = std::env::args().skip(1).collect();
    mcp::minder::run(&command)
}
