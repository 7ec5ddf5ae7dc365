use tidings_waybill::{ProfileId, TurnScope};

fn exchange(turn: &mut TurnScope, other: ProfileId) {
    turn.session.profile = other;
}

fn main() {}
