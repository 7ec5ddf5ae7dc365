//! What was spent, as the owner reads it.

use serde_json::json;
use testkit::http::Ask;

use crate::world::World;

#[tokio::test]
async fn a_program_reads_what_was_spent_and_how_full_the_limits_are() {
    let world = World::new().await;
    let stranger = world.send(Ask::get("/api/usage")).await;
    assert_eq!(stranger.status, 401);
    let cookie = world.log_in().await;
    let told = world
        .send(Ask::get("/api/usage?days=2").header("cookie", &cookie))
        .await;
    assert_eq!(told.status, 200, "{}", told.text());
    let told = told.json().unwrap();
    let default = &told["profiles"][0];
    assert_eq!(default["profile"], json!("default"));
    assert_eq!(default["usd_per_turn"], json!(0.5));
    assert_eq!(
        default["caps"],
        json!([
            // 2026-02-01, and 2026-01-02.
            { "cap": "usd_per_month", "spent_usd": 3.2, "limit_usd": 40.0, "percent": 8, "resets": 1_769_904_000_000_i64 },
            { "cap": "usd_per_day", "spent_usd": 1.6, "limit_usd": 2.0, "percent": 80, "resets": 1_767_312_000_000_i64 },
        ])
    );
    assert_eq!(
        told["rows"],
        json!([
            { "day": "2026-01-01", "profile": "default", "model": "far/<model>", "calls": 12, "unpriced_calls": 0,
              "input_tokens": 400_000, "cached_tokens": 300_000, "output_tokens": 12_000, "usd": 1.6 },
            { "day": "2025-12-31", "profile": "default", "model": "home/m", "calls": 3, "unpriced_calls": 3,
              "input_tokens": 9_000, "cached_tokens": 0, "output_tokens": 270, "usd": 0.0 },
        ])
    );
    for wrong in ["days=0", "days=367", "days=x", "day=1"] {
        let ask = Ask::get(format!("/api/usage?{wrong}")).header("cookie", &cookie);
        assert_eq!(world.send(ask).await.status, 400, "{wrong}");
    }
}

#[tokio::test]
async fn a_person_reads_it_and_a_models_name_is_never_markup() {
    let world = World::new().await;
    let stranger = world.send(Ask::get("/usage")).await;
    assert_eq!(stranger.status, 401);
    assert!(!stranger.text().contains("far/"));
    let cookie = world.log_in().await;
    let page = world
        .send(Ask::get("/usage").header("cookie", &cookie))
        .await;
    assert_eq!(page.status, 200);
    let html = page.text();
    for shown in [
        "<strong>$1.60</strong> of $2.00",
        "aria-label=\"80 percent of the limit\"",
        "width=\"80\"",
        "begins anew 2026-01-02 00:00 UTC",
        "<strong>$3.20</strong> of $40.00",
        "One turn may cost $0.50.",
        "600 k cached (75 % of what was read)",
        "200 k fresh",
        "24 k written",
        "price unknown",
        "3 calls in these 30 days",
        "2025-12-31",
        "2025-12-20",
    ] {
        assert!(html.contains(shown), "{shown}: {html}");
    }
    assert!(!html.contains("<model>"), "{html}");
    assert!(
        !html.contains("style="),
        "the guard would not let it be seen"
    );
    for (path, shown, absent) in [
        ("/usage?days=7", "2025-12-31", "2025-12-20"),
        ("/usage?days=nonsense", "2025-12-20", "nonsense"),
    ] {
        let page = world.send(Ask::get(path).header("cookie", &cookie)).await;
        assert_eq!(page.status, 200, "{path}");
        let html = page.text();
        assert!(
            html.contains(shown) && !html.contains(absent),
            "{path}: {html}"
        );
    }
}
