use tidings_waybill::{ProfileScope, SessionScope, TurnScope};

fn forge(session: SessionScope) -> TurnScope {
    let _ = ProfileScope::default();
    let _ = SessionScope::default();
    session.into()
}

fn main() {}
