//! The launcher alone, for this crate's own tests. The gateway's binary calls the same function from its `main`.

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    tidings_sandbox_process::launch::run(&arguments)
}
