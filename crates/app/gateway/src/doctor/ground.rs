//! What all profiles stand on.

use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock, statvfs};
use settings::Home;
use store_sqlite::{Ballast, Store};
use waybill::{Clock, Timestamp};

use super::{Check, Verdict};

/// No clock that is right shows less: 2025-01-01, in seconds since 1970.
const EARLIEST: i64 = 1_735_689_600;
/// By so much may a file's time be ahead of the clock.
const AHEAD: Duration = Duration::from_secs(300);

pub(super) async fn examine(home: &Home, clock: &dyn Clock) -> Vec<Check> {
    vec![
        running(home),
        disk(home),
        time(home, clock.now()),
        database(home).await,
    ]
}

/// Looks at the lock and takes none that would keep a gateway from its start.
fn running(home: &Home) -> Check {
    let mut file = match File::open(home.lock()) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Check::good(
                "gateway",
                "none ran on this home yet; `tidings up` starts it",
            );
        }
        Err(error) => {
            let path = home.lock();
            let text = format!(
                "{} can't be read: {error}; give it to this user",
                path.display()
            );
            return Check::bad("gateway", text);
        }
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Check::good(
            "gateway",
            "none runs on this home now; `tidings up` starts it",
        ),
        Err(_held) => {
            let mut pid = String::new();
            match file.read_to_string(&mut pid) {
                Ok(_) => Check::good("gateway", format!("runs (process {})", pid.trim())),
                Err(_unread) => Check::good("gateway", "runs"),
            }
        }
    }
}

fn disk(home: &Home) -> Check {
    let found = match statvfs(home.path()) {
        Ok(found) => found,
        Err(error) => {
            return Check::bad(
                "disk",
                format!(
                    "the disk of {} can't be asked: {error}",
                    home.path().display()
                ),
            );
        }
    };
    let free = found.f_bavail.saturating_mul(found.f_frsize);
    let text = format!("{} are free", sandbox::size_text(free));
    if free < Ballast::START {
        Check::bad(
            "disk",
            format!(
                "{text}, too little to start; free some space on the disk of {}",
                home.path().display()
            ),
        )
    } else if free < 2 * Ballast::BYTES {
        Check::new(
            "disk",
            Verdict::Warning,
            format!("{text}; files are refused when it is full, so free some space soon"),
        )
    } else {
        Check::good("disk", text)
    }
}

fn time(home: &Home, now: Timestamp) -> Check {
    let wrong = |text: String| {
        Check::bad(
            "clock",
            format!("{text}; set this machine's clock, for leases, retention and logins go by it"),
        )
    };
    if now.as_second() < EARLIEST {
        return wrong(format!("it shows {now}, which is long ago"));
    }
    let written = std::fs::metadata(home.database()).and_then(|found| found.modified());
    let ahead = written.ok().and_then(|written| {
        let since = written.duration_since(SystemTime::UNIX_EPOCH).ok()?;
        let now = Duration::from_secs(now.as_second().unsigned_abs());
        since.checked_sub(now).filter(|ahead| *ahead > AHEAD)
    });
    match ahead {
        Some(ahead) => wrong(format!(
            "the database was written {} minutes after what the clock shows now",
            ahead.as_secs() / 60
        )),
        None => Check::good("clock", now.to_string()),
    }
}

async fn database(home: &Home) -> Check {
    let path = home.database();
    if !path.exists() {
        return Check::good("database", "there is none yet; `tidings up` makes it");
    }
    let found = match Store::open_read_only(&path) {
        Ok(store) => store.quick_check().await.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match found {
        Ok(findings) if findings.is_empty() => Check::good("database", "every page is sound"),
        Ok(findings) => Check::bad(
            "database",
            format!(
                "it is damaged ({}); put a backup back, see docs/backup.md",
                findings.join("; ")
            ),
        ),
        Err(error) => Check::bad("database", format!("it can't be read: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_years_behind_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path()).unwrap();
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(time(&home, at(0)).verdict, Verdict::Bad);
        assert_eq!(time(&home, at(EARLIEST)).verdict, Verdict::Good);
        std::fs::create_dir_all(home.state()).unwrap();
        std::fs::write(home.database(), "").unwrap();
        let behind = time(&home, at(EARLIEST));
        assert_eq!(behind.verdict, Verdict::Bad);
        assert!(
            behind.text.contains("minutes after what the clock shows"),
            "{}",
            behind.text
        );
    }

    #[tokio::test]
    async fn a_database_that_is_none_is_told_and_none_is_made() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path()).unwrap();
        assert_eq!(database(&home).await.verdict, Verdict::Good);
        assert!(!home.database().exists());
        std::fs::create_dir_all(home.database().parent().unwrap()).unwrap();
        std::fs::write(home.database(), "not a database, whatever its name says").unwrap();
        assert_eq!(database(&home).await.verdict, Verdict::Bad);
    }
}
