//! Names of containers, networks and volumes: injective, and safe for any id.

use sandbox::SandboxKey;
use waybill::{ProfileId, label};

/// The name of a key's container: 1 to 63 bytes of `[a-z0-9_.-]`.
pub(crate) fn container(install: &str, key: &SandboxKey) -> String {
    join(install, &key.to_string())
}

/// The name of a key's volume for one of its places, of the same alphabet. No key begins with `volume-`.
pub(crate) fn volume(install: &str, key: &SandboxKey, place: &str) -> String {
    join(install, &format!("volume-{place}:{key}"))
}

/// The name of a profile's network, of the same alphabet.
pub(crate) fn network(install: &str, profile: &ProfileId) -> String {
    // No key begins like this, so that not even a container has the name.
    join(install, &format!("network:{profile}"))
}

/// The install is first made a word without a colon, so that the first colon after it always ends it.
fn join(install: &str, rest: &str) -> String {
    label::name(&format!("tidings:{}:{rest}", label::name(install)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sandbox::SandboxKey;
    use waybill::{ProfileId, SessionKey};

    use super::{container, network, volume};

    fn key(profile: &str, talk: Option<String>) -> SandboxKey {
        let profile = ProfileId::parse(profile).unwrap();
        match talk {
            None => SandboxKey::Profile(profile),
            Some(talk) => SandboxKey::Session(profile, SessionKey::Local(talk)),
        }
    }

    fn safe(name: &str) -> bool {
        let first = name.bytes().next();
        (1..=63).contains(&name.len())
            && first.is_some_and(|byte| byte.is_ascii_alphanumeric())
            && name.bytes().all(|byte| {
                byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_.-".contains(&byte)
            })
    }

    type Ids = (String, String, Option<String>);

    fn ids() -> impl Strategy<Value = Ids> {
        let talk = proptest::option::of("[ -~ü:%]{1,80}");
        ("[ -~äß:]{0,70}", "[a-z0-9][a-z0-9_-]{0,20}", talk)
    }

    /// Ids that a careless name would take for the same.
    fn twin((install, profile, talk): &Ids, how: u8) -> Ids {
        let changed = |text: &str| match how {
            0 => text.to_owned(),
            1 => text.to_uppercase(),
            2 => text.replace([':', ' ', '/', '.'], "-"),
            3 => format!("{text} "),
            _ => text.chars().take(40).collect(),
        };
        (
            changed(install),
            profile.clone(),
            talk.as_deref().map(changed),
        )
    }

    proptest! {
        #[test]
        fn two_sandboxes_never_share_a_name_whatever_their_ids(
            one in ids(),
            how in 0_u8..5,
            stranger in proptest::option::of(ids()),
        ) {
            let other = stranger.unwrap_or_else(|| twin(&one, how));
            let of = |(install, profile, talk): &Ids| {
                let key = key(profile, talk.clone());
                let volumes = ["workspace", "home"].map(|place| volume(install, &key, place));
                (container(install, &key), network(install, key.profile()), volumes)
            };
            let (container_of_one, network_of_one, volumes_of_one) = of(&one);
            let (container_of_other, network_of_other, volumes_of_other) = of(&other);
            for name in [&container_of_one, &network_of_one].into_iter().chain(&volumes_of_one) {
                prop_assert!(safe(name), "{name:?}");
            }
            prop_assert_ne!(&container_of_one, &network_of_one);
            prop_assert_ne!(&volumes_of_one[0], &volumes_of_one[1]);
            prop_assert!(!volumes_of_one.contains(&container_of_one));
            for volume in &volumes_of_one {
                prop_assert_eq!(volumes_of_other.contains(volume), one == other);
            }
            prop_assert_eq!(container_of_one == container_of_other, one == other);
            let same_profile = (&one.0, &one.1) == (&other.0, &other.1);
            prop_assert_eq!(network_of_one == network_of_other, same_profile);
        }
    }

    #[test]
    fn an_install_with_a_colon_does_not_slide_into_the_key() {
        // An account that is called `profile`, and its chat `b`.
        let outer = container("a", &"session:w:chat:profile:b".parse().unwrap());
        let inner = container("a:session:w:chat", &key("b", None));
        assert_ne!(outer, inner);
        assert_ne!(
            container("a", &key("b", None)),
            container("A", &key("b", None)),
            "names must differ where case is folded too"
        );
    }
}
