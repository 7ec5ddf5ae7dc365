//! Who is there to be asked.

/// What somebody is to an account, by the platform's immutable id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Its owner.
    Owner,
    /// Somebody who may talk.
    Allowed,
    /// A program that speaks for itself: nobody reads a question there.
    Program,
    /// Not known (any more).
    Stranger,
}

/// Where a turn comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Context {
    /// A chat with the owner alone.
    Owner,
    /// A chat with somebody who was allowed.
    Person,
    /// Several people read it.
    Group,
    /// A program on the API.
    Api,
    /// A job or a delegated task: nobody is there.
    Nobody,
    /// It can't be told.
    Unknown,
}

impl Context {
    /// Every one, for tests.
    pub const ALL: [Self; 6] = [
        Self::Owner,
        Self::Person,
        Self::Group,
        Self::Api,
        Self::Nobody,
        Self::Unknown,
    ];

    /// Whether somebody can be asked.
    #[must_use]
    pub fn has_somebody(self) -> bool {
        match self {
            Self::Owner | Self::Person | Self::Group => true,
            Self::Api | Self::Nobody | Self::Unknown => false,
        }
    }

    /// Its name, for the log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Owner => "owner",
            Self::Person => "person",
            Self::Group => "group",
            Self::Api => "api",
            Self::Nobody => "nobody",
            Self::Unknown => "unknown",
        }
    }
}

/// The context of a turn that people in a chat set going: who they are, and what kind of place it is. Nobody, or one who is not
/// known, is no context.
pub fn context(people: impl IntoIterator<Item = (Standing, chat::Place)>) -> Context {
    let mut is: Option<Context> = None;
    for (standing, place) in people {
        let one = match (standing, place) {
            (Standing::Stranger, _) => return Context::Unknown,
            (Standing::Program, _) => Context::Api,
            (Standing::Owner | Standing::Allowed, chat::Place::Group { .. }) => Context::Group,
            (Standing::Owner, chat::Place::Direct) => Context::Owner,
            (Standing::Allowed, chat::Place::Direct) => Context::Person,
        };
        is = match is {
            None => Some(one),
            Some(before) if before == one => Some(one),
            // In one chat people of both kinds talk: the lesser one counts.
            Some(Context::Owner | Context::Person)
                if matches!(one, Context::Owner | Context::Person) =>
            {
                Some(Context::Person)
            }
            Some(_) => return Context::Unknown,
        };
    }
    is.unwrap_or(Context::Unknown)
}

#[cfg(test)]
mod tests {
    use chat::Place;

    use super::*;

    #[test]
    fn whoever_is_not_known_makes_the_context_unknown() {
        let group = Place::Group { addressed: true };
        for (people, is) in [
            (vec![], Context::Unknown),
            (vec![(Standing::Owner, Place::Direct)], Context::Owner),
            (vec![(Standing::Allowed, Place::Direct)], Context::Person),
            (vec![(Standing::Owner, group)], Context::Group),
            (
                vec![(Standing::Owner, group), (Standing::Allowed, group)],
                Context::Group,
            ),
            (
                vec![(Standing::Owner, group), (Standing::Stranger, group)],
                Context::Unknown,
            ),
            (vec![(Standing::Program, Place::Direct)], Context::Api),
            (
                vec![
                    (Standing::Program, Place::Direct),
                    (Standing::Owner, Place::Direct),
                ],
                Context::Unknown,
            ),
            (
                vec![
                    (Standing::Owner, Place::Direct),
                    (Standing::Allowed, Place::Direct),
                ],
                Context::Person,
            ),
        ] {
            assert_eq!(context(people.clone()), is, "{people:?}");
        }
    }
}
