//! What an error's body says: its words, its codes, its status, and the wait that it names.

use std::time::Duration;

use serde_json::Value;

pub(crate) struct Said {
    pub(crate) words: String,
    pub(crate) codes: String,
    pub(crate) status: Option<u16>,
    pub(crate) after: Option<Duration>,
}

pub(crate) fn of(error: &Value) -> Said {
    let text = |field: &str| match error.get(field) {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let status = error
        .get("code")
        .or_else(|| error.get("status"))
        .and_then(Value::as_u64);
    let mut words = error.as_str().unwrap_or_default().to_owned();
    if words.is_empty() {
        words = ["message", "detail", "msg", "error"]
            .into_iter()
            .map(text)
            .find(|text| !text.is_empty())
            .unwrap_or_default();
    }
    if words.is_empty() && !error.is_null() {
        words = error.to_string();
    }
    // A router's own words are "Provider returned error"; the reason is inside.
    if let Some(raw) = error.pointer("/metadata/raw").and_then(Value::as_str) {
        words = format!("{words}: {raw}");
    }
    Said {
        words,
        codes: [text("code"), text("type"), text("status")]
            .join(" ")
            .to_lowercase(),
        status: status
            .and_then(|code| u16::try_from(code).ok())
            .filter(|code| (400..600).contains(code)),
        after: retry_info(error),
    }
}

/// Longer waits are no advice: a day's quota is spent.
const LONGEST_WAIT: f64 = 3600.0;

/// `details` with a `RetryInfo`: `"retryDelay": "34.5s"`.
fn retry_info(error: &Value) -> Option<Duration> {
    let details = error.get("details")?.as_array()?;
    let delay = details
        .iter()
        .find_map(|one| one.get("retryDelay")?.as_str())?;
    let daily = details.iter().any(|one| {
        let violations = one.get("violations").and_then(Value::as_array);
        violations.into_iter().flatten().any(|one| {
            let quota = one.get("quotaId").and_then(Value::as_str);
            quota.is_some_and(|quota| quota.contains("PerDay"))
        })
    });
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    let sensible = !daily && (0.0..=LONGEST_WAIT).contains(&seconds);
    sensible.then(|| Duration::from_secs_f64(seconds))
}

/// A body that is no JSON: a web page's title, or the text itself.
pub(crate) fn plain(body: &str) -> String {
    let body = body.trim();
    if !body.starts_with('<') {
        return body.to_owned();
    }
    let lower = body.to_ascii_lowercase();
    let title = lower.find("<title>").zip(lower.find("</title>"));
    let title = title
        .and_then(|(from, to)| body.get(from + "<title>".len()..to))
        .map(str::trim);
    match title.filter(|title| !title.is_empty()) {
        Some(title) => format!("a web page, \"{title}\""),
        None => "a web page".to_owned(),
    }
}
