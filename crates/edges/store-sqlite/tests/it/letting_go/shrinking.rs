//! What was given up comes back to the disk, and can't be read there any more.

use rusqlite::Connection;
use session::RetentionStore as _;

use super::house::{DAY, House, text};

#[tokio::test]
async fn a_database_that_was_tidied_shrinks_and_its_log_too() {
    let mut house = House::new();
    let words = "word ".repeat(16_000);
    for _ in 0..150 {
        house.send(vec![text(&words)]).await;
    }
    house.at = 40 * DAY;
    assert!(house.tidy(None).await >= 150);
    let size = |house: &House, ending: &str| {
        let mut name = house.place.database().into_os_string();
        name.push(ending);
        std::fs::metadata(name).unwrap().len()
    };
    let pages = || -> i64 {
        let db = Connection::open(house.place.database()).unwrap();
        db.query_row("PRAGMA freelist_count", [], |row| row.get(0))
            .unwrap()
    };
    assert!(pages() > 2_000);
    let mut steps = 0;
    while house.store.shrink().await.unwrap().more {
        steps += 1;
        assert!(steps < 100);
    }
    assert!(steps > 3, "in small steps");
    assert!(pages() <= 1_024);
    assert!(size(&house, "") < 8 << 20, "{}", size(&house, ""));
    assert!(size(&house, "-wal") < 8 << 20, "{}", size(&house, "-wal"));
    assert_eq!(house.store.check().await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn words_that_were_dropped_are_not_in_the_file_any_more() {
    let mut house = House::new();
    let (short, long) = ("a secret 4711", "another secret 0815. ".repeat(2_000));
    for words in [short, &long] {
        house.send(vec![text(words)]).await;
    }
    let found = |house: &House| {
        let bytes = std::fs::read(house.place.database()).unwrap();
        ["secret 4711", "secret 0815"].map(|words| {
            bytes
                .windows(words.len())
                .any(|there| there == words.as_bytes())
        })
    };
    house.reopen().await;
    assert_eq!(found(&house), [true, true]);
    house.at = 4 * DAY;
    house.tidy(None).await;
    house.reopen().await;
    assert_eq!(found(&house), [false, false]);
}
