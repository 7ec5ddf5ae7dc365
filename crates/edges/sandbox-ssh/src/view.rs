//! What a sandbox sees of the other machine: behind walls its paths are true; without walls they are spelled anew.

use sandbox::{Network, SandboxKey, SandboxPath, forbidden_place};

use crate::facts::{Entry, Facts, Walls};
use crate::line::{BOOT, quote, with_arguments};
use crate::scripts;

/// Entries of the root folder that a sandbox does not see, or sees as its own: homes, sockets, what others keep there.
const HIDDEN: [&str; 14] = [
    "/boot",
    "/dev",
    "/home",
    "/inbox",
    "/lost+found",
    "/media",
    "/proc",
    "/root",
    "/run",
    "/sys",
    "/tmp",
    "/var",
    "/workspace",
    "/efi",
];

/// Places of `/proc` that are the whole machine's. Root may write there without any capability, if the account is root.
const KERNEL: [&str; 8] = [
    "/proc/acpi",
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/mtrr",
    "/proc/scsi",
    "/proc/sys",
    "/proc/sysrq-trigger",
];

/// A sandbox's folders there, and where it sees them.
const PLACES: [(&str, &str); 4] = [
    ("workspace", SandboxPath::WORKSPACE),
    ("home", SandboxPath::HOME),
    ("inbox", SandboxPath::INBOX),
    ("tmp", "/tmp"),
];

/// Why no folder is sent where there are no walls.
const NO_WALLS: &str =
    "this machine has no walls, so folders are not sent; pack it with tar and send that file";

/// One sandbox on one machine.
pub(crate) struct View<'a> {
    facts: &'a Facts,
    base: String,
    key: String,
}

/// What the environment of all processes of a sandbox holds. Its whole place: another gateway may have sandboxes of the same names
/// elsewhere under the same account.
pub(crate) fn marked(base: &str) -> String {
    format!("TIDINGS_SANDBOX=@{base}@")
}

impl<'a> View<'a> {
    pub(crate) fn new(facts: &'a Facts, key: &SandboxKey) -> Self {
        let text = key.to_string();
        let name = format!("{}/{}", key.profile().as_str(), waybill::label::name(&text));
        Self {
            facts,
            base: format!("{}/{name}", facts.folder.trim_end_matches('/')),
            key: text,
        }
    }

    /// Its folder there.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    pub(crate) fn facts(&self) -> &Facts {
        self.facts
    }

    pub(crate) fn walled(&self) -> bool {
        matches!(self.facts.walls, Walls::Bubblewrap { .. })
    }

    /// A path as commands in the sandbox spell it.
    pub(crate) fn path(&self, path: &SandboxPath) -> String {
        if self.walled() {
            return path.as_str().to_owned();
        }
        let text = format!("/{}", path.as_str().trim_start_matches('/'));
        // Without walls there is one `/tmp`, for all.
        PLACES
            .iter()
            .filter(|(_, at)| *at != "/tmp")
            .find_map(|(folder, at)| Some(format!("{}/{folder}{}", self.base, below(&text, at)?)))
            .unwrap_or(text)
    }

    /// A place as the other machine's kernel spells it, in the sandbox's own spelling; or the name of a place from which
    /// nothing is sent whatever the spelling.
    pub(crate) fn seen(&self, place: &str) -> Result<String, String> {
        if self.walled() {
            return Ok(place.to_owned());
        }
        if let Some(rest) = below(place, &self.base) {
            let own = PLACES.iter().find_map(|(folder, at)| {
                Some(format!("{at}{}", below(rest.strip_prefix('/')?, folder)?))
            });
            return own.ok_or_else(|| "outside the sandbox".to_owned());
        }
        if below(place, &self.facts.folder).is_some() {
            return Err("another sandbox".to_owned());
        }
        // The account's own home may hold what opens other people's doors, wherever it lies.
        match below(place, &self.facts.home) {
            Some(rest) if self.facts.home.len() > 1 => Ok(format!("{}{rest}", SandboxPath::HOME)),
            _ => Ok(place.to_owned()),
        }
    }

    /// Why nothing of a folder is sent, if that is so: its place, or a sentence.
    pub(crate) fn forbids_folder(&self, canonical: &str) -> Option<String> {
        if !self.walled() {
            return Some(NO_WALLS.to_owned());
        }
        // Mounts are refused before, so there are no secret ones.
        let forbidden = forbidden_place(canonical, &[]);
        forbidden.or_else(|| {
            let own = PLACES.iter().any(|(_, at)| below(canonical, at).is_some());
            let first = canonical.split('/').nth(1).unwrap_or_default();
            (!own).then(|| format!("/{first}"))
        })
    }

    /// What `~` is there.
    pub(crate) fn home(&self) -> String {
        if self.walled() {
            SandboxPath::HOME.to_owned()
        } else {
            format!("{}/home", self.base)
        }
    }

    /// Makes its folders where they are missing.
    pub(crate) fn folders(&self) -> String {
        with_arguments(scripts::FOLDERS, &[&self.base, &self.key])
    }

    /// The first line: makes the folders, marks what follows, enters the walls where there are any, and waits there for the
    /// next line. The next line's environment must not be known here: a library that it loads would run before the walls.
    pub(crate) fn enter(&self, mark: &str, network: Network) -> String {
        let mut script = self.folders();
        script.push_str(&format!(
            "\nexport TIDINGS_EXEC={mark} {}\nexec",
            quote(&marked(&self.base))
        ));
        if let Walls::Bubblewrap { program, seals } = &self.facts.walls {
            script.push(' ');
            script.push_str(&quote(program));
            for word in self.walls(*seals, network) {
                script.push(' ');
                script.push_str(&quote(&word));
            }
        }
        script.push_str(&format!(" /bin/sh -c {} tidings", quote(BOOT)));
        script
    }

    /// What is said to bubblewrap.
    fn walls(&self, seals: bool, network: Network) -> Vec<String> {
        let mut words = Words::default();
        words.add(&[
            "--unshare-user",
            "--unshare-pid",
            "--unshare-ipc",
            "--unshare-uts",
            "--unshare-cgroup-try",
        ]);
        if seals {
            words.add(&["--disable-userns"]);
        }
        match network {
            Network::None => words.add(&["--unshare-net"]),
            Network::Bridge => {}
        }
        words.add(&["--die-with-parent", "--cap-drop", "ALL"]);
        for entry in &self.facts.entries {
            match entry {
                Entry::Folder(at) if self.shows(at) => words.add(&["--ro-bind", at, at]),
                Entry::Link { at, to } if self.shows(at) => words.add(&["--symlink", to, at]),
                Entry::Folder(_) | Entry::Link { .. } => {}
            }
        }
        for secret in [&self.facts.home, &self.facts.folder] {
            if self.lies_within_what_is_shown(secret) {
                words.add(&["--tmpfs", secret]);
            }
        }
        words.add(&[
            "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run", "--tmpfs", "/var/tmp",
        ]);
        for place in KERNEL {
            words.add(&["--ro-bind-try", place, place]);
        }
        if network == Network::Bridge && below(&self.facts.names, "/run").is_some() {
            words.add(&["--ro-bind", &self.facts.names, &self.facts.names]);
        }
        for (folder, at) in PLACES {
            let how = if at == SandboxPath::INBOX {
                "--ro-bind"
            } else {
                "--bind"
            };
            words.add(&[how, &format!("{}/{folder}", self.base), at]);
        }
        words.add(&["--remount-ro", "/", "--chdir", "/"]);
        words.0
    }

    fn shows(&self, at: &str) -> bool {
        !HIDDEN.contains(&at) && at != self.facts.home && at != self.facts.folder
    }

    fn lies_within_what_is_shown(&self, secret: &str) -> bool {
        self.facts.entries.iter().any(|entry| match entry {
            Entry::Folder(at) => {
                self.shows(at) && below(secret, at).is_some_and(|rest| !rest.is_empty())
            }
            Entry::Link { .. } => false,
        })
    }
}

/// What follows a folder in a path: empty, or with a slash in front.
fn below<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    path.strip_prefix(folder.trim_end_matches('/'))
        .filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn add(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(|word| (*word).to_owned()));
    }
}

#[cfg(test)]
mod tests {
    use sandbox::{Network, SandboxPath};

    use super::View;
    use crate::facts::tests::TEXT;
    use crate::facts::{Facts, Walls};

    fn facts(home: &str, folder: &str, walled: bool) -> Facts {
        let mut facts = Facts::parse(TEXT).unwrap();
        facts.home = home.to_owned();
        facts.folder = folder.to_owned();
        if !walled {
            facts.walls = Walls::Bare("none".to_owned());
        }
        facts
    }

    fn walls(facts: &Facts, network: Network) -> String {
        let view = View::new(facts, &"profile:work".parse().unwrap());
        view.walls(true, network).join(" ")
    }

    #[test]
    fn behind_the_walls_are_the_system_and_the_sandboxs_own_folders() {
        let facts = facts("/home/ana", "/home/ana/.tidings", true);
        let said = walls(&facts, Network::None);
        for part in [
            "--unshare-net",
            "--disable-userns",
            "--cap-drop ALL",
            "--ro-bind /usr /usr",
            "--symlink usr/bin /bin",
            "--ro-bind /odd name /odd name",
            "--remount-ro /",
            "--ro-bind /home/ana/.tidings/work/profile.work/inbox /inbox",
            "--bind /home/ana/.tidings/work/profile.work/workspace /workspace",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        for part in [
            "/home /home",
            "/run /run",
            "/var /var",
            " /sys ",
            "stub-resolv",
        ] {
            assert!(!said.contains(part), "{part}: {said}");
        }
        let said = walls(&facts, Network::Bridge);
        assert!(
            !said.contains("--unshare-net")
                && said.contains("--ro-bind /run/systemd/resolve/stub-resolv.conf")
        );
    }

    #[test]
    fn the_accounts_home_and_other_sandboxes_are_hidden_wherever_they_lie() {
        let said = walls(
            &facts("/srv/people/ana", "/usr/share/boxes", true),
            Network::None,
        );
        assert!(
            said.contains("--tmpfs /srv/people/ana --tmpfs /usr/share/boxes"),
            "{said}"
        );
        let said = walls(&facts("/", "/srv", true), Network::None);
        assert!(
            !said.contains("--ro-bind /srv /srv") && !said.contains("--tmpfs / "),
            "{said}"
        );
    }

    #[test]
    fn folders_of_the_machine_are_never_sent_and_without_walls_none_is() {
        let walled = facts("/home/ana", "/home/ana/.tidings", true);
        let key = "profile:work".parse().unwrap();
        let view = View::new(&walled, &key);
        for sent in ["/workspace", "/workspace/a", "/root/a", "/tmp/a", "/inbox"] {
            assert_eq!(view.forbids_folder(sent), None, "{sent}");
        }
        for (folder, place) in [
            ("/usr/share", "/usr"),
            ("/", "/"),
            ("/workspaces", "/workspaces"),
            ("/proc/1", "/proc"),
            ("/root/.ssh", "~/.ssh"),
        ] {
            assert_eq!(view.forbids_folder(folder).as_deref(), Some(place));
        }
        let bare = facts("/home/ana", "/home/ana/.tidings", false);
        let view = View::new(&bare, &key);
        let refused = view.forbids_folder("/home/ana/.tidings/work/profile.work/workspace");
        assert!(refused.unwrap().contains("pack it with tar"));
    }

    #[test]
    fn without_walls_paths_are_spelled_anew_and_back() {
        let facts = facts("/data/ana", "/data/ana/boxes", false);
        let view = View::new(&facts, &"profile:work".parse().unwrap());
        let base = "/data/ana/boxes/work/profile.work";
        for (path, there) in [
            ("/workspace/a", format!("{base}/workspace/a")),
            ("~", format!("{base}/home")),
            ("//inbox/x", format!("{base}/inbox/x")),
            ("/workspaces/a", "/workspaces/a".to_owned()),
            ("/tmp/x", "/tmp/x".to_owned()),
        ] {
            assert_eq!(
                view.path(&SandboxPath::parse(path).unwrap()),
                there,
                "{path}"
            );
        }
        for (place, seen) in [
            (format!("{base}/workspace/a"), Ok("/workspace/a")),
            (format!("{base}/home/.ssh/id"), Ok("/root/.ssh/id")),
            (format!("{base}/key"), Err("outside the sandbox")),
            (base.to_owned(), Err("outside the sandbox")),
            (
                "/data/ana/boxes/play/profile.play/workspace/x".to_owned(),
                Err("another sandbox"),
            ),
            (
                "/data/ana/.aws/credentials".to_owned(),
                Ok("/root/.aws/credentials"),
            ),
            ("/data/anabel/x".to_owned(), Ok("/data/anabel/x")),
            ("/etc/passwd".to_owned(), Ok("/etc/passwd")),
        ] {
            assert_eq!(
                view.seen(&place),
                seen.map(str::to_owned).map_err(str::to_owned),
                "{place}"
            );
        }
    }
}
