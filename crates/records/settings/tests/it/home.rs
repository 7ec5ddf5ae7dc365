//! Where things lie, and who may look.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tidings_settings::{Environment, FixedEnvironment, Home, HomeError, ProcessEnvironment};

use crate::world::{World, set_mode};

#[test]
fn the_option_comes_before_the_variable_and_the_variable_before_the_users_home() {
    let both = FixedEnvironment::new([("TIDINGS_HOME", "/srv/tidings"), ("HOME", "/home/ana")]);
    let user = FixedEnvironment::new([("HOME", "/home/ana"), ("TIDINGS_HOME", "")]);
    let tilde = FixedEnvironment::new([("HOME", "/home/ana"), ("TIDINGS_HOME", "~/elsewhere")]);
    let path = |option: Option<&str>, environment| {
        Home::find(option.map(Path::new), environment)
            .unwrap()
            .path()
            .to_owned()
    };
    assert_eq!(path(Some("/opt/t/"), &both), Path::new("/opt/t"));
    assert_eq!(path(Some("~/t"), &both), Path::new("/home/ana/t"));
    assert_eq!(path(None, &both), Path::new("/srv/tidings"));
    assert_eq!(path(None, &user), Path::new("/home/ana/.tidings"));
    assert_eq!(path(None, &tilde), Path::new("/home/ana/elsewhere"));
    assert!(path(Some("relative"), &both).is_absolute());
    let error = Home::find(None, &FixedEnvironment::default()).unwrap_err();
    assert!(matches!(error, HomeError::Nowhere));
}

#[test]
fn the_files_have_the_names_that_scripts_rely_on() {
    let home = Home::at(Path::new("/h")).unwrap();
    let names = [
        (home.config(), "/h/tidings.toml"),
        (home.secrets(), "/h/secrets"),
        (home.profiles(), "/h/profiles"),
        (home.profile(&"work".parse().unwrap()), "/h/profiles/work"),
        (home.state(), "/h/state"),
        (home.database(), "/h/state/tidings.db"),
        (home.blobs(), "/h/state/blobs"),
        (home.run(), "/h/run"),
        (home.socket(), "/h/run/tidings.sock"),
        (home.lock(), "/h/run/tidings.lock"),
    ];
    for (found, expected) in names {
        assert_eq!(found, Path::new(expected));
    }
}

#[test]
fn the_home_is_made_private_and_making_it_again_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(&folder.path().join("a/b/home")).unwrap();
    assert!(matches!(home.check(), Err(HomeError::Missing { .. })));
    home.make().unwrap();
    home.make().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for path in [
        home.path(),
        &home.secrets(),
        &home.profiles(),
        &home.state(),
        &home.blobs(),
        &home.run(),
    ] {
        assert_eq!(mode(path), 0o700, "{}", path.display());
    }
}

#[test]
fn a_home_that_others_can_read_is_refused_with_the_command_to_run() {
    let world = World::new();
    let path = world.home.path().to_owned();
    for mode in [0o750, 0o705, 0o711, 0o777] {
        set_mode(&path, mode);
        let shown = path.display();
        let expected = format!("others can read {shown} (mode {mode:03o}); run: chmod 700 {shown}");
        assert_eq!(world.home.check().unwrap_err().to_string(), expected);
        assert_eq!(world.home.make().unwrap_err().to_string(), expected);
    }
    set_mode(&path, 0o700);
    world.home.check().unwrap();

    let spaced = world.folder.path().join("my home");
    fs::create_dir(&spaced).unwrap();
    set_mode(&spaced, 0o755);
    let error = Home::at(&spaced).unwrap().check().unwrap_err().to_string();
    assert!(
        error.ends_with(&format!("chmod 700 '{}'", spaced.display())),
        "{error}"
    );

    let file = world.folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(matches!(
        Home::at(&file).unwrap().check(),
        Err(HomeError::NotAFolder { .. })
    ));
}

#[test]
fn a_home_whose_socket_could_not_be_made_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(&folder.path().join("x".repeat(100))).unwrap();
    assert!(matches!(home.make(), Err(HomeError::TooLong { .. })));
    assert!(!home.path().exists());
}

#[test]
fn the_process_environment_is_read_and_impossible_names_are_simply_not_set() {
    assert!(ProcessEnvironment.get("PATH").is_some());
    for name in ["", "A=B", "A\0B", "TIDINGS_TEST_SURELY_UNSET"] {
        assert_eq!(ProcessEnvironment.get(name), None, "{name:?}");
    }
}
