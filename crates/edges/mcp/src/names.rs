//! The name by which a model calls a tool of a server: `SERVER__TOOL`.
//!
//! Two tools never share one. A name that fits as it is stands as it is, with exactly one `__` in it; every other one is cut, cleaned
//! and ends in `__` and a hash of both names, so it has two.

/// Longest name that every provider takes (OpenAI and Anthropic: 64 of `[a-zA-Z0-9_-]`).
pub(crate) const LONGEST: usize = 64;
/// Hexadecimal digits of the hash: 48 bits.
const HASH: usize = 12;
/// Between the parts.
const BETWEEN: &str = "__";

/// The name of a tool for the model.
pub(crate) fn for_model(server: &str, tool: &str) -> String {
    let whole = format!("{server}{BETWEEN}{tool}");
    if is_plain(server) && is_plain(tool) && whole.len() <= LONGEST {
        return whole;
    }
    let room = LONGEST - HASH - 2 * BETWEEN.len();
    // The hash knows where the first part ends, since both may hold whatever stands between them.
    let hash = hash(&format!("{}:{whole}", server.len()));
    let short = cleaned(server, room / 2);
    let tool = cleaned(tool, room - short.len());
    format!("{short}{BETWEEN}{tool}{BETWEEN}{hash}")
}

/// Whether a part can be found again in a joined name: the place where the two meet must be the only one.
fn is_plain(part: &str) -> bool {
    !part.is_empty()
        && part.chars().all(is_allowed)
        && !part.contains(BETWEEN)
        && !part.starts_with('_')
        && !part.ends_with('_')
}

fn is_allowed(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || matches!(sign, '_' | '-')
}

fn cleaned(part: &str, most: usize) -> String {
    let signs = part
        .chars()
        .map(|sign| if is_allowed(sign) { sign } else { '_' });
    let mut name = String::new();
    for sign in signs {
        // No second `__` of its own.
        if !(sign == '_' && (name.is_empty() || name.ends_with('_'))) {
            name.push(sign);
        }
        if name.len() == most {
            break;
        }
    }
    let name = name.trim_end_matches('_');
    if name.is_empty() { "x" } else { name }.to_owned()
}

fn hash(text: &str) -> String {
    let mut hex = blake3::hash(text.as_bytes()).to_hex().to_string();
    hex.truncate(HASH);
    hex
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn good_names_stand_as_they_are() {
        for (server, tool, name) in [
            ("files", "read", "files__read"),
            ("git-hub", "create_issue", "git-hub__create_issue"),
        ] {
            assert_eq!(for_model(server, tool), name);
        }
    }

    #[test]
    fn names_that_could_be_taken_for_others_are_told_apart() {
        for (server, tool) in [
            ("a", "_b"),
            ("a_", "b"),
            ("a", "b__c"),
            ("a__b", "c"),
            ("a", "b.c"),
            ("a", "b/c"),
            ("a", "中文"),
            ("a", ""),
            ("a", "____"),
            ("files", &"long".repeat(50)),
            (&"server".repeat(20), &"tool".repeat(20)),
        ] {
            let name = for_model(server, tool);
            assert!(
                name.len() <= LONGEST && name.chars().all(is_allowed),
                "{name}"
            );
            assert_eq!(name.matches(BETWEEN).count(), 2, "{name}");
        }
        assert_ne!(for_model("a", "_b"), for_model("a_", "b"));
        assert_ne!(for_model("a", "b.c"), for_model("a", "b/c"));
    }

    proptest! {
        #[test]
        fn two_tools_never_share_a_name(
            one in ("[a-z_.-]{1,6}", "[a-zA-Z_./-]{0,70}"),
            other in ("[a-z_.-]{1,6}", "[a-zA-Z_./-]{0,70}"),
        ) {
            let names = [&one, &other].map(|(server, tool)| for_model(server, tool));
            prop_assert_eq!(names[0] == names[1], one == other);
            prop_assert!(names.iter().all(|name| name.len() <= LONGEST && name.chars().all(is_allowed)));
        }
    }
}
