//! What entries are called in a zip: names that every system unpacks where they belong, each once.

use std::collections::{HashMap, HashSet};

/// The names of one zip.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Folders: the one around, counted from 1 (0 is the top), and the name as the sandbox has it.
    folders: HashMap<(usize, String), Folder>,
    /// Names that are given away in a folder, and how many asked for each.
    given: HashMap<(usize, String), usize>,
    /// Folders that the zip holds itself.
    held: HashSet<usize>,
}

#[derive(Debug, Clone)]
struct Folder {
    number: usize,
    name: String,
}

impl Names {
    /// The name of a file.
    pub(super) fn file(&mut self, name: &str) -> String {
        let (around, last) = match name.rsplit_once('/') {
            Some((around, last)) => (self.path(around), last),
            None => ((0, String::new()), name),
        };
        let (number, mut told) = around;
        told.push_str(&self.give(number, last));
        told
    }

    /// The name of a folder; none if the zip holds it already.
    pub(super) fn folder(&mut self, name: &str) -> Option<String> {
        let (number, told) = self.path(name);
        self.held.insert(number).then_some(told)
    }

    /// Names given by now.
    pub(super) fn count(&self) -> usize {
        self.given.len()
    }

    /// A folder's number, and its name with a `/` at its end.
    fn path(&mut self, name: &str) -> (usize, String) {
        let (mut number, mut told) = (0, String::new());
        for part in name.split('/') {
            let known = self.folders.get(&(number, part.to_owned())).cloned();
            let folder = known.unwrap_or_else(|| {
                let folder = Folder {
                    number: self.folders.len() + 1,
                    name: self.give(number, part),
                };
                let key = (number, part.to_owned());
                self.folders.insert(key, folder.clone());
                folder
            });
            number = folder.number;
            told.push_str(&folder.name);
            told.push('/');
        }
        (number, told)
    }

    fn give(&mut self, around: usize, part: &str) -> String {
        let clean = plain(part);
        let mut told = clean.clone();
        while self.given.contains_key(&(around, told.clone())) {
            let asked = self.given.entry((around, clean.clone())).or_insert(1);
            *asked += 1;
            told = numbered(&clean, *asked);
        }
        self.given.insert((around, told.clone()), 1);
        told
    }
}

/// A component without what leads elsewhere or deceives the eye: some systems take `\` and `:` for parts of a path.
pub(super) fn plain(part: &str) -> String {
    part.chars()
        .map(|sign| match sign {
            '\\' | ':' => '_',
            sign if sign.is_control() || changes_direction(sign) => '_',
            sign => sign,
        })
        .collect()
}

fn changes_direction(sign: char) -> bool {
    matches!(sign, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
}

/// `report (2).pdf`.
fn numbered(name: &str, number: usize) -> String {
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => format!("{stem} ({number}).{ending}"),
        Some(_) | None => format!("{name} ({number})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_in_a_zip_leads_elsewhere_deceives_or_stands_there_twice() {
        let mut names = Names::default();
        assert_eq!(names.file("..\\..\\evil.exe"), ".._.._evil.exe");
        assert_eq!(names.file("C:evil.exe"), "C_evil.exe");
        assert_eq!(names.file("C_evil.exe"), "C_evil (2).exe");
        assert_eq!(names.file("C\\evil.exe"), "C_evil (3).exe");
        assert_eq!(names.file("C_evil (2).exe"), "C_evil (2) (2).exe");
        assert_eq!(names.file("gpj\u{202e}exe"), "gpj_exe");
        assert_eq!(names.file("a\u{1b}[31m\nb"), "a_[31m_b");
        assert_eq!(names.file("Grüße 報.txt"), "Grüße 報.txt");
        assert_eq!(names.file(".env"), ".env");
        assert_eq!(names.file(".env"), ".env (2)");
    }

    #[test]
    fn what_lies_in_a_renamed_folder_stays_together() {
        let mut names = Names::default();
        assert_eq!(names.folder("a_b").unwrap(), "a_b/");
        assert_eq!(names.folder("a:b").unwrap(), "a_b (2)/");
        assert_eq!(names.folder("a:b"), None);
        assert_eq!(names.file("a:b/x\\y"), "a_b (2)/x_y");
        assert_eq!(names.file("a_b/x\\y"), "a_b/x_y");
        assert_eq!(names.file("a:b/deep/x"), "a_b (2)/deep/x");
        assert_eq!(names.folder("a:b/deep").unwrap(), "a_b (2)/deep/");
        assert_eq!(names.count(), 6);
    }
}
