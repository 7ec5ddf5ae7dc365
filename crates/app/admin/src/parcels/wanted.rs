//! Which parcels are asked for.

use outbox::{ListFilter, MessageRow, PartState};
use serde::Deserialize;
use waybill::{AccountId, ChatKey, MessageId, ProfileId};

use crate::error::Refused;
use crate::kind::percent;
use crate::router::Surface;

/// Parcels of one answer, where nothing else is asked for.
const USUAL: usize = 50;
/// Most parcels of one answer.
pub(crate) const MOST: usize = 200;

/// The query of the API. What is empty is not asked for, as forms send it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Wanted {
    state: String,
    profile: String,
    account: String,
    chat: String,
    before: String,
    most: Option<usize>,
}

fn given(text: &str) -> Option<&str> {
    Some(text.trim()).filter(|text| !text.is_empty())
}

fn read<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<Option<T>, String> {
    given(text)
        .map(|text| text.parse().map_err(|error: T::Err| error.to_string()))
        .transpose()
}

impl Wanted {
    /// As the store takes it.
    pub(crate) fn filter(&self) -> Result<ListFilter, String> {
        let most = self.most.unwrap_or(USUAL);
        if most == 0 || most > MOST {
            return Err(format!(
                "most = {most}: between 1 and {MOST} can be asked for"
            ));
        }
        Ok(ListFilter {
            state: read::<PartState>(&self.state)?,
            profile: read::<ProfileId>(&self.profile)?,
            account: read::<AccountId>(&self.account)?,
            conversation: given(&self.chat).map(str::to_owned),
            before: read::<MessageId>(&self.before)?,
            most,
        })
    }
}

/// The query of the page: a chat is written as it is shown there, `ACCOUNT:CHAT`, or as an account alone.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Chosen {
    pub(crate) state: String,
    pub(crate) profile: String,
    pub(crate) chat: String,
    pub(crate) before: String,
}

impl Chosen {
    /// As the store takes it.
    pub(crate) fn filter(&self) -> Result<ListFilter, String> {
        let mut filter = ListFilter {
            state: read(&self.state)?,
            profile: read(&self.profile)?,
            before: read(&self.before)?,
            most: USUAL,
            ..ListFilter::default()
        };
        match given(&self.chat) {
            Some(chat) if chat.contains(':') => {
                let chat: ChatKey = chat
                    .parse()
                    .map_err(|error| format!("'{chat}' is not ACCOUNT:CHAT: {error}"))?;
                filter.account = Some(chat.account);
                filter.conversation = Some(chat.conversation.as_str().to_owned());
            }
            Some(account) => {
                filter.account = Some(account.parse().map_err(|error| {
                    format!("'{account}' is neither ACCOUNT:CHAT nor an account: {error}")
                })?);
            }
            None => {}
        }
        Ok(filter)
    }

    /// Whether anything narrows the list down.
    pub(crate) fn narrows(&self) -> bool {
        [&self.state, &self.profile, &self.chat]
            .into_iter()
            .any(|text| given(text).is_some())
    }

    /// The same choice at another address: `/outbox`, or a parcel's.
    pub(crate) fn at(&self, path: &str) -> String {
        let fields = [
            ("state", &self.state),
            ("profile", &self.profile),
            ("chat", &self.chat),
            ("before", &self.before),
        ];
        let query: Vec<String> = fields
            .into_iter()
            .filter_map(|(name, text)| Some(format!("{name}={}", percent(given(text)?))))
            .collect();
        if query.is_empty() {
            path.to_owned()
        } else {
            format!("{path}?{}", query.join("&"))
        }
    }
}

/// One page of parcels, and what to ask with as `before` for the next; `None`: these were the last.
pub(crate) async fn some(
    surface: &Surface,
    filter: ListFilter,
) -> Result<(Vec<MessageRow>, Option<MessageId>), Refused> {
    let most = filter.most;
    let one_more = ListFilter {
        most: most + 1,
        ..filter
    };
    let mut rows = surface.options.outbox.list(one_more).await?;
    let more = rows.len() > most;
    rows.truncate(most);
    let next = rows.last().filter(|_| more).map(|row| row.id);
    Ok((rows, next))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_keeps_its_filters_from_page_to_page() {
        let chosen = Chosen {
            state: "retry".into(),
            chat: "bot:-100 7".into(),
            ..Chosen::default()
        };
        assert_eq!(
            chosen.at("/outbox/msg_1"),
            "/outbox/msg_1?state=retry&chat=bot%3A-100%207"
        );
        assert_eq!(Chosen::default().at("/outbox"), "/outbox");
    }

    #[test]
    fn a_chat_is_an_account_or_a_place_on_it() {
        let of = |chat: &str| {
            let chosen = Chosen {
                chat: chat.into(),
                ..Chosen::default()
            };
            let filter = chosen.filter()?;
            Ok((filter.account.map(|id| id.to_string()), filter.conversation))
        };
        assert_eq!(of(" "), Ok((None, None)));
        assert_eq!(of("bot"), Ok((Some("bot".into()), None)));
        assert_eq!(of("bot:-7"), Ok((Some("bot".into()), Some("-7".into()))));
        assert_eq!(of("bot:-7:9"), Ok((Some("bot".into()), Some("-7".into()))));
        let wrong: Result<_, String> = of("no such:");
        assert!(wrong.unwrap_err().contains("ACCOUNT:CHAT"));
    }
}
