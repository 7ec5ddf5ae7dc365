//! A home, a fake platform with several bots, and a fake model that answers at once.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::TempDir;
use testkit::model_server::ModelServer;
use testkit::telegram::{Rule, Said, Telegram, Trouble};

use crate::case::{Case, Dice};
use crate::gateway::Place;
use crate::speech::{Kind, REFUSED, Speech, answer};

/// Bots, each with a profile of its own.
pub(crate) const BOTS: usize = 4;
/// The first person's number; the others follow. The same people talk to every bot.
const FIRST: i64 = 5_001;

/// Everything that a case runs in.
pub(crate) struct World {
    pub(crate) telegram: Telegram,
    model: ModelServer,
    pub(crate) place: Place,
    folder: TempDir,
    pub(crate) speeches: Vec<Speech>,
    /// How many of them were written in.
    pub(crate) written: usize,
}

/// A bot's token.
pub(crate) fn token(bot: usize) -> String {
    format!("{}:AAAA-bot-of-the-crash-matrix-{bot}", bot_id(bot))
}

pub(crate) fn bot_id(bot: usize) -> i64 {
    100_001 + i64::try_from(bot).unwrap_or_default()
}

/// A bot's account in the product.
pub(crate) fn account(bot: usize) -> String {
    format!("bot{bot}")
}

impl World {
    pub(crate) async fn new(case: &Case, binary: &Path) -> anyhow::Result<Self> {
        let telegram = Telegram::start().await?;
        for bot in 0..BOTS {
            telegram.add_bot(&token(bot), &format!("crash_bot_{bot}"));
        }
        let refused = |call: &testkit::telegram::Call| {
            call.uploads.iter().any(|one| one.name.contains(REFUSED))
        };
        telegram.script(
            Rule::on("sendDocument").when(refused).always(),
            Trouble::BadRequest("wrong file identifier".to_owned()),
        );
        let model = ModelServer::start().await?;
        model.answer_by(answer);
        let folder = tempfile::Builder::new()
            .prefix("tidings-crash-")
            .tempdir()?;
        let home = folder.path().join("home");
        std::fs::create_dir_all(&home)?;
        std::fs::set_permissions(&home, std::fs::Permissions::from_mode(0o700))?;
        let speeches = speeches(case);
        let people: Vec<i64> = people(case).collect();
        std::fs::write(
            home.join("tidings.toml"),
            config(&telegram, &model, &people)?,
        )?;
        let place = Place {
            binary: binary.to_owned(),
            home,
            log: folder.path().join("gateway.log"),
            environment: (0..BOTS)
                .map(|bot| (format!("TOKEN_{bot}"), token(bot)))
                .collect(),
        };
        Ok(Self {
            telegram,
            model,
            place,
            folder,
            speeches,
            written: 0,
        })
    }

    /// People write until so many of the messages are in.
    pub(crate) fn write(&mut self, until: usize) {
        let until = until.min(self.speeches.len());
        for speech in self.speeches.iter().take(until).skip(self.written) {
            let said = Said::text(&speech.words()).by(speech.chat, "Somebody");
            self.telegram.say(&token(speech.bot), said);
        }
        self.written = self.written.max(until);
    }

    /// What the fakes hold against the product.
    pub(crate) fn violations(&self) -> Vec<String> {
        let mut all = self.telegram.violations();
        all.extend(self.model.violations());
        all
    }

    /// Leaves the home where it is, for who wants to look.
    pub(crate) fn keep(self) -> std::path::PathBuf {
        self.folder.keep()
    }
}

/// So many chats a bot that each has a few messages: one chat alone is slow.
fn people(case: &Case) -> std::ops::Range<i64> {
    let each = case.messages.div_ceil(BOTS * 3).max(2);
    FIRST..FIRST + i64::try_from(each).unwrap_or(2)
}

fn speeches(case: &Case) -> Vec<Speech> {
    let mut dice = Dice::new(case.seed);
    let people = people(case);
    let each = u64::try_from(people.end - people.start).unwrap_or(1);
    let mut asked_who = Vec::new();
    (0..case.messages)
        .map(|number| {
            let needed = case.row.needs().get(number).copied();
            let mut kind = needed.unwrap_or_else(|| kind(&mut dice, number));
            let mut bot = usize::try_from(dice.below(BOTS as u64)).unwrap_or(0);
            let mut chat = people.start + i64::try_from(dice.below(each)).unwrap_or(0);
            if kind == Kind::Command {
                // A person's number says who is meant only if one bot alone tells it, and once.
                bot = 0;
                let free = people.clone().find(|person| !asked_who.contains(person));
                match free {
                    Some(person) => chat = person,
                    None => kind = Kind::Text,
                }
                asked_who.push(chat);
            }
            Speech {
                number,
                bot,
                chat,
                kind,
            }
        })
        .collect()
}

/// Most messages are short; what is slow comes a few times in a case.
fn kind(dice: &mut Dice, number: usize) -> Kind {
    match (number % 40, dice.below(20)) {
        (7, _) => Kind::Carried,
        (17, _) => Kind::Big,
        (27, _) => Kind::Refused,
        (_, 0 | 1) => Kind::Long,
        (_, 2) => Kind::File,
        (_, 3) if number.is_multiple_of(3) => Kind::Heavy,
        (_, 4) => Kind::Missing,
        (_, 5) => Kind::Command,
        _ => Kind::Text,
    }
}

fn config(
    telegram: &Telegram,
    model: &ModelServer,
    people: &[i64],
) -> Result<String, std::fmt::Error> {
    let mut text = format!(
        "[defaults]\nsandbox = {{ driver = \"process\" }}\n[providers.fake]\napi = \"openai-chat\"\nbase_url = \"{}\"\n",
        model.base_url()
    );
    for bot in 0..BOTS {
        write!(
            text,
            "[profiles.p{bot}]\nmodel = \"fake/p{bot}\"\n\
             [channels.{}]\nkind = \"telegram\"\nprofile = \"p{bot}\"\ntoken = \"env:TOKEN_{bot}\"\n\
             api_base = \"{}\"\nbusy = \"queue\"\nallow = {people:?}\n",
            account(bot),
            telegram.api_base()
        )?;
    }
    Ok(text)
}
