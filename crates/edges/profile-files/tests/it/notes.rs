//! Notebooks on disk.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use chat::SenderId;
use memory::{Change, EntryId, NoteError, NoteStore as _, Notebook, Refused, Whose};
use tempfile::TempDir;
use tidings_profile_files::Notes;
use tokio::task::JoinSet;
use waybill::{AccountId, Timestamp};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn notes(home: &TempDir) -> Notes {
    Notes::at(home.path().join("profiles/p/memory"))
}

fn person(account: &str, sender: &str) -> Whose {
    Whose::Person {
        account: AccountId::parse(account).unwrap(),
        sender: SenderId::new(sender),
    }
}

fn add(text: &str) -> Vec<Change> {
    vec![Change::Add(text.to_owned())]
}

fn texts(book: &Notebook) -> Vec<&str> {
    book.entries()
        .iter()
        .map(|entry| entry.text.as_str())
        .collect()
}

#[tokio::test]
async fn what_is_remembered_is_there_after_a_restart_and_nobody_else_can_read_it() {
    let home = TempDir::new().unwrap();
    assert!(
        notes(&home)
            .read(&Whose::Profile)
            .await
            .unwrap()
            .entries()
            .is_empty()
    );
    notes(&home)
        .change(&Whose::Profile, add("Likes tea."), NOW)
        .await
        .unwrap();
    assert_eq!(
        texts(&notes(&home).read(&Whose::Profile).await.unwrap()),
        ["Likes tea."]
    );
    let folder = home.path().join("profiles/p/memory");
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    assert_eq!(mode(&folder.join("MEMORY.md")), 0o600);
}

#[tokio::test]
async fn two_people_never_share_a_notebook() {
    let home = TempDir::new().unwrap();
    let notes = notes(&home);
    let people = [
        person("bot", "1"),
        person("bot", "A"),
        person("bot", "a"),
        person("bot2", "1"),
        person("bot", "../../MEMORY"),
    ];
    for (n, whose) in people.iter().enumerate() {
        notes
            .change(whose, add(&format!("note {n}")), NOW)
            .await
            .unwrap();
    }
    for (n, whose) in people.iter().enumerate() {
        assert_eq!(
            texts(&notes.read(whose).await.unwrap()),
            [format!("note {n}")]
        );
    }
    assert!(
        notes
            .read(&Whose::Profile)
            .await
            .unwrap()
            .entries()
            .is_empty()
    );
}

#[tokio::test]
async fn what_is_dropped_is_found_in_the_archive() {
    let home = TempDir::new().unwrap();
    let notes = notes(&home);
    let book = notes
        .change(&Whose::Profile, add("Lives in Bern."), NOW)
        .await
        .unwrap();
    let id = book.entries()[0].id;
    notes
        .change(
            &Whose::Profile,
            vec![Change::Replace(id, "Lives in Basel.".to_owned())],
            NOW,
        )
        .await
        .unwrap();
    let former = notes.former(&Whose::Profile, "bern", 10).await.unwrap();
    assert_eq!(former.len(), 1);
    assert_eq!(
        notes.former(&person("bot", "1"), "bern", 10).await.unwrap(),
        []
    );
    let refused = notes
        .change(&Whose::Profile, vec![Change::Remove(EntryId(99))], NOW)
        .await;
    assert!(matches!(
        refused,
        Err(NoteError::Refused {
            refused: Refused::NoEntry(_),
            ..
        })
    ));
}

#[tokio::test]
async fn an_archive_that_can_not_be_read_is_not_written_over() {
    let home = TempDir::new().unwrap();
    let notes = notes(&home);
    let book = notes
        .change(&Whose::Profile, add("Lives in Bern."), NOW)
        .await
        .unwrap();
    let id = book.entries()[0].id;
    let moves = |to: &str| vec![Change::Replace(id, to.to_owned())];
    notes
        .change(&Whose::Profile, moves("Lives in Basel."), NOW)
        .await
        .unwrap();
    let folder = fs::read_dir(home.path().join("profiles/p/memory")).unwrap();
    let archive = folder
        .map(|entry| entry.unwrap().path())
        .find(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("Lives in Bern.")))
        .unwrap();
    // Far larger than an archive grows: it is none that we wrote.
    let large = "x".repeat(8 << 20);
    fs::write(&archive, &large).unwrap();
    let refused = notes
        .change(&Whose::Profile, moves("Lives in Zug."), NOW)
        .await;
    assert!(matches!(refused, Err(NoteError::Disk(_))), "{refused:?}");
    assert_eq!(fs::metadata(&archive).unwrap().len(), 8 << 20);
    let kept = notes.read(&Whose::Profile).await.unwrap();
    assert!(format!("{kept:?}").contains("Lives in Basel."));
}

#[tokio::test]
async fn a_link_in_the_place_of_a_notebook_is_neither_read_nor_written_through() {
    let home = TempDir::new().unwrap();
    let folder = home.path().join("profiles/p/memory");
    fs::create_dir_all(&folder).unwrap();
    let secret = home.path().join("secret");
    fs::write(&secret, "the token").unwrap();
    symlink(&secret, folder.join("MEMORY.md")).unwrap();
    let notes = notes(&home);
    assert!(matches!(
        notes.read(&Whose::Profile).await,
        Err(NoteError::Disk(_))
    ));
    assert!(notes.change(&Whose::Profile, add("x"), NOW).await.is_err());
    symlink(home.path(), folder.join("people")).unwrap();
    assert!(
        notes
            .change(&person("bot", "1"), add("x"), NOW)
            .await
            .is_err()
    );
    assert_eq!(fs::read_to_string(&secret).unwrap(), "the token");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2);
}

#[tokio::test]
async fn a_write_that_was_cut_off_leaves_the_notebook_as_it_was() {
    let home = TempDir::new().unwrap();
    let notes = notes(&home);
    notes
        .change(&Whose::Profile, add("one"), NOW)
        .await
        .unwrap();
    let folder = home.path().join("profiles/p/memory");
    fs::write(folder.join(".MEMORY.md.new"), "half of someth").unwrap();
    assert_eq!(texts(&notes.read(&Whose::Profile).await.unwrap()), ["one"]);
    notes
        .change(&Whose::Profile, add("two"), NOW)
        .await
        .unwrap();
    assert_eq!(
        texts(&notes.read(&Whose::Profile).await.unwrap()),
        ["one", "two"]
    );
}

#[tokio::test]
async fn many_changes_at_once_are_all_made() {
    let home = TempDir::new().unwrap();
    let notes = notes(&home);
    let mut changes = JoinSet::new();
    for n in 0..20 {
        let notes = notes.clone();
        changes.spawn(async move {
            notes
                .change(&Whose::Profile, add(&format!("fact {n}")), NOW)
                .await
        });
    }
    while let Some(change) = changes.join_next().await {
        change.unwrap().unwrap();
    }
    assert_eq!(
        notes.read(&Whose::Profile).await.unwrap().entries().len(),
        20
    );
}
