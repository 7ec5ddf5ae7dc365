use tidings_waybill::{ChatKey, Origin, ProfileId, Waybill};

fn forge(profile: ProfileId, chat: ChatKey) -> Waybill {
    Waybill { profile, chat, session: None, turn: None, task: None, origin: Origin::Operator, anchor: None }
}

fn main() {}
