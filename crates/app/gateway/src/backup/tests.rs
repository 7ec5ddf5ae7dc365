//! Copies of homes.

use std::os::unix::fs::symlink;

use store_sqlite::Store;

use super::*;
use crate::SystemIds;

fn home(folder: &Path) -> Home {
    let home = Home::at(&folder.join("home")).unwrap();
    home.make().unwrap();
    let options = store_sqlite::Options {
        database: home.database(),
        blobs: home.blobs(),
    };
    drop(Store::open(&options).unwrap());
    fs::write(home.config(), "[profiles.work]\n").unwrap();
    let work = home.profiles().join("work");
    fs::create_dir_all(work.join("skills/mail")).unwrap();
    fs::create_dir_all(work.join("sandboxes/profile.work/workspace")).unwrap();
    fs::write(work.join("SOUL.md"), "I am kind.").unwrap();
    fs::write(work.join("skills/mail/sandboxes"), "not a sandbox").unwrap();
    fs::write(work.join("sandboxes/profile.work/workspace/huge"), "x").unwrap();
    symlink("SOUL.md", work.join("link")).unwrap();
    fs::write(home.secrets().join("token"), "s3cret").unwrap();
    fs::write(home.state().join("install"), "abc").unwrap();
    fs::write(home.state().join("generation"), "g").unwrap();
    fs::write(home.state().join("ballast"), "b").unwrap();
    home
}

fn take(home: &Home, place: &Path, secrets: Secrets) -> Result<Backup, BackupError> {
    back_up(home, place, secrets, &SystemIds, &|_| {})
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_copy_has_what_people_made_and_no_secret_and_no_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(folder.path());
    let place = folder.path().join("copies/monday");
    let made = take(&home, &place, Secrets::Left).unwrap();
    assert_eq!(names(&place), ["profiles", "state", "tidings.toml"]);
    assert_eq!(
        names(&place.join("state")),
        ["blobs", "generation", "install", "tidings.db"]
    );
    let work = place.join("profiles/work");
    assert_eq!(names(&work), ["SOUL.md", "link", "skills"]);
    assert_eq!(names(&work.join("skills/mail")), ["sandboxes"]);
    let linked = fs::symlink_metadata(work.join("link")).unwrap();
    assert!(linked.is_file(), "the copy is not whole");
    assert_eq!((made.files, made.links.len()), (5, 0));
    let mode = fs::metadata(&place).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    Home::at(&place).unwrap().check().unwrap();

    let place = folder.path().join("with");
    take(&home, &place, Secrets::Taken).unwrap();
    assert_eq!(
        fs::read_to_string(place.join("secrets/token")).unwrap(),
        "s3cret"
    );
}

#[test]
fn nothing_is_overwritten_and_a_home_is_not_copied_into_itself() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(folder.path());
    let place = folder.path().join("full");
    fs::create_dir(&place).unwrap();
    fs::write(place.join("diary"), "dear").unwrap();
    let refused = take(&home, &place, Secrets::Left).unwrap_err();
    assert!(matches!(refused, BackupError::NotEmpty(_)), "{refused}");
    assert_eq!(names(&place), ["diary"]);
    let file = place.join("diary");
    let refused = take(&home, &file, Secrets::Left).unwrap_err();
    assert!(matches!(refused, BackupError::NotAFolder(_)), "{refused}");
    symlink(home.path(), folder.path().join("alias")).unwrap();
    for inside in [
        home.path().join("backup"),
        home.profiles().join("work/backup"),
        folder.path().join("alias/backup"),
    ] {
        let refused = take(&home, &inside, Secrets::Left).unwrap_err();
        assert!(matches!(refused, BackupError::Inside(_)), "{refused}");
        assert!(!inside.exists());
    }
}

#[test]
fn a_copy_that_failed_takes_itself_away() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(folder.path());
    fs::write(home.database(), "not a database").unwrap();
    let place = folder.path().join("new");
    let refused = take(&home, &place, Secrets::Taken).unwrap_err();
    assert!(refused.to_string().contains("not a database"), "{refused}");
    assert!(!place.exists());
    let there = folder.path().join("there");
    fs::create_dir(&there).unwrap();
    take(&home, &there, Secrets::Left).unwrap_err();
    assert_eq!(names(&there), Vec::<String>::new());
}

#[test]
fn what_a_killed_one_left_is_cleared_and_one_that_runs_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(folder.path());
    let place = folder.path().join("monday");
    fs::create_dir_all(place.join(".making/state")).unwrap();
    fs::write(place.join(".making/tidings.toml"), "half").unwrap();
    take(&home, &place, Secrets::Left).unwrap();
    assert_eq!(
        fs::read_to_string(place.join("tidings.toml")).unwrap(),
        "[profiles.work]\n"
    );
    let place = folder.path().join("tuesday");
    let running = Draft::begin(&home, &place).unwrap();
    let refused = take(&home, &place, Secrets::Left).unwrap_err();
    assert!(matches!(refused, BackupError::Taken(_)), "{refused}");
    assert!(place.exists());
    drop(running);
    assert!(!place.exists());
}

#[test]
fn what_links_lead_to_comes_along_or_is_named_and_no_secret_comes_by_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let home = home(folder.path());
    let elsewhere = folder.path().join("dotfiles");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("persona"), "I am shared.").unwrap();
    fs::write(elsewhere.join("token"), "t0ken").unwrap();
    let work = home.profiles().join("work");
    symlink(elsewhere.join("persona"), work.join("file")).unwrap();
    symlink(&elsewhere, work.join("folder")).unwrap();
    symlink(home.database(), work.join("database")).unwrap();
    symlink("../../secrets/token", work.join("secret")).unwrap();
    symlink("nowhere", work.join("nothing")).unwrap();
    symlink(elsewhere.join("token"), home.secrets().join("linked")).unwrap();
    let named = ["database", "folder", "nothing", "secret"];
    for (number, secrets) in [Secrets::Left, Secrets::Taken].into_iter().enumerate() {
        let place = folder.path().join(format!("copy{number}"));
        let made = take(&home, &place, secrets).unwrap();
        let expected = named.map(|name| Path::new("profiles/work").join(name));
        assert_eq!(made.links, expected);
        for name in named {
            let copy = place.join("profiles/work").join(name);
            assert!(fs::read_link(copy).is_ok(), "{name}");
        }
        let persona = fs::read_to_string(place.join("profiles/work/file")).unwrap();
        assert_eq!(persona, "I am shared.");
        let file = fs::symlink_metadata(place.join("profiles/work/file")).unwrap();
        assert!(file.is_file());
        if secrets == Secrets::Taken {
            let token = fs::symlink_metadata(place.join("secrets/linked")).unwrap();
            assert!(token.is_file());
        }
    }
}

fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            copy_all(&entry.path(), &to.join(entry.file_name()));
        } else {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

#[tokio::test]
async fn a_backup_of_a_database_without_generations_is_noticed_when_it_is_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(&folder.path().join("home")).unwrap();
    home.make().unwrap();
    fs::write(home.config(), "").unwrap();
    let old = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../edges/store-sqlite/tests/fixtures/0001-first-light");
    copy_all(&old, &home.state());
    let place = folder.path().join("copy");
    take(&home, &place, Secrets::Left).unwrap();
    for (path, noticed) in [(home.path(), false), (&place, true)] {
        let home = Home::at(path).unwrap();
        let store = Store::open(&store_sqlite::Options {
            database: home.database(),
            blobs: home.blobs(),
        })
        .unwrap();
        let file = home.state().join("generation");
        let entered = store
            .enter(&file, &SystemIds, waybill::Timestamp::UNIX_EPOCH)
            .await
            .unwrap();
        let put_back = matches!(entered, store_sqlite::Entered::PutBack { .. });
        assert_eq!(put_back, noticed, "{}", path.display());
        store.close().await.unwrap();
    }
}
