//! `tidings doctor`.

use std::process::ExitCode;

use gateway::{Check, Verdict, examine_ground, examine_servers};
use serde_json::json;
use settings::{Environment, Home};
use waybill::{Clock, ProfileId};

use crate::exit::Failure;
use crate::outbox::Paint;
use crate::printable::printable;
use crate::sandboxes;

/// Tries everything and says what was found. Exit code 1 if something does not work.
pub(crate) fn run(
    home: &Home,
    as_json: bool,
    paint: Paint,
    environment: &dyn Environment,
    clock: &dyn Clock,
) -> Result<ExitCode, Failure> {
    home.check()?;
    let loaded = settings::load(home, environment);
    let mut ground = vec![configuration(&loaded)];
    let mut servers = Vec::new();
    let mut profiles = match loaded.into_settings() {
        Err(_told) => {
            let runtime = sandboxes::runtime()?;
            ground.extend(runtime.block_on(examine_ground(home, clock)));
            Vec::new()
        }
        Ok(settings) => {
            sandboxes::with(home, environment, sandboxes::Needs::Profiles, async |all| {
                ground.extend(examine_ground(home, clock).await);
                let minder = crate::servers::minder();
                servers = examine_servers(home, &settings, &minder, environment).await;
                Ok(all.examine().await)
            })?
        }
    };
    for (id, checks) in &mut profiles {
        let own = servers.iter_mut().filter(|(other, _)| other == id);
        own.for_each(|(_, more)| checks.append(more));
    }
    if as_json {
        println!("{}", object(&ground, &profiles));
    } else {
        lines(&ground, &profiles, paint)
            .iter()
            .for_each(|line| println!("{line}"));
    }
    let all = profiles.iter().flat_map(|(_, checks)| checks);
    if ground
        .iter()
        .chain(all)
        .any(|check| check.verdict == Verdict::Bad)
    {
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

fn configuration(loaded: &settings::Loaded) -> Check {
    let told: Vec<String> = loaded.problems.iter().map(ToString::to_string).collect();
    let (verdict, text) = if !loaded.is_sound() {
        (Verdict::Bad, told.join("; "))
    } else if told.is_empty() {
        (Verdict::Good, "tidings.toml is sound".to_owned())
    } else {
        (Verdict::Warning, told.join("; "))
    };
    Check {
        name: "configuration",
        verdict,
        text,
    }
}

fn object(ground: &[Check], profiles: &[(ProfileId, Vec<Check>)]) -> serde_json::Value {
    let each: serde_json::Map<String, serde_json::Value> = profiles
        .iter()
        .map(|(id, checks)| (id.to_string(), json!(checks)))
        .collect();
    json!({ "checks": ground, "profiles": each })
}

fn lines(ground: &[Check], profiles: &[(ProfileId, Vec<Check>)], paint: Paint) -> Vec<String> {
    let mut lines: Vec<String> = ground.iter().map(|check| line(check, paint)).collect();
    for (id, checks) in profiles {
        lines.push(String::new());
        lines.push(paint.strong(&format!("profile {id}")));
        lines.extend(checks.iter().map(|check| line(check, paint)));
    }
    lines
}

fn line(check: &Check, paint: Paint) -> String {
    let word = match check.verdict {
        Verdict::Good => paint.good("ok     "),
        Verdict::Warning => paint.care("note   "),
        Verdict::Bad => paint.bad("FAILED "),
        Verdict::Skipped => paint.faint("skipped"),
    };
    format!("  {word} {}: {}", check.name, printable(&check.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_work_is_told_with_its_profile_and_obeys_no_terminal() {
        let check = |verdict, text: &str| Check {
            name: "write",
            verdict,
            text: text.to_owned(),
        };
        let ground = [check(Verdict::Good, "fine")];
        let profiles = [(
            ProfileId::parse("work").unwrap(),
            vec![check(Verdict::Bad, "\u{1b}[2Jdo this")],
        )];
        assert_eq!(
            lines(&ground, &profiles, Paint::Plain),
            [
                "  ok      write: fine",
                "",
                "profile work",
                "  FAILED  write: �[2Jdo this"
            ]
        );
        assert_eq!(
            object(&ground, &profiles)["profiles"]["work"][0]["verdict"],
            "bad"
        );
    }
}
