//! Documents that stay true: links lead somewhere, the schema is the code's.

use crate::house::{root, sources};

#[test]
fn links_between_documents_lead_somewhere() {
    let mut broken = Vec::new();
    for source in sources(&root(), &[".md"]) {
        let folder = root().join(&source.place);
        let folder = folder.parent().unwrap();
        for link in source
            .text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let target = link.split('#').next().unwrap();
            let outside = target.is_empty()
                || target.contains("://")
                || target.contains(' ')
                || target.starts_with("MEDIA:");
            if !outside && !folder.join(target).exists() {
                broken.push(format!("{} → {link}", source.place));
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn the_documents_of_the_house_are_there() {
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "GLOSSARY.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "CHANGELOG.md",
        "LICENSE",
    ] {
        assert!(root().join(name).is_file(), "{name} is missing");
    }
}
