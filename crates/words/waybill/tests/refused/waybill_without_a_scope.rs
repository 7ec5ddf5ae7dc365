use tidings_waybill::Waybill;

fn main() {
    let _ = Waybill::default();
    let _ = Waybill::reply("work");
}
