//! `ask`: the agent's own question, with buttons or by text.

use policy::plain;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Bench, read};
use crate::asking::{Kind, Question, Said, Unanswered};

/// Most characters of a question.
const QUESTION: usize = 1_500;
/// Most choices; a phone shows about so many buttons at once.
const CHOICES: usize = 8;
/// Most characters of one.
const CHOICE: usize = 100;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    question: String,
    #[serde(default)]
    choices: Vec<String>,
}

impl Bench<'_> {
    pub(super) async fn ask(&mut self, arguments: &Map<String, Value>) -> Result<String, String> {
        let Arguments { question, choices } = read(arguments)?;
        if !self.somebody_is_there() {
            return Err(
                "nobody can be asked here: decide by yourself, or say in your answer what you need to know".to_owned(),
            );
        }
        let (question, choices) = checked(&question, choices)?;
        let mut text = question;
        for (number, choice) in choices.iter().enumerate() {
            text.push_str(&format!("\n{}. {}", number + 1, plain(choice, CHOICE)));
        }
        let asked = Question {
            kind: Kind::Ask { choices },
            who: self.who_may_answer(),
            text: format!("❓ {text}"),
            patience: self.patience(),
        };
        match self.ask_person(asked).await {
            Ok(reply) => match reply.said {
                Said::Words(words) => Ok(words),
                Said::Yes(_) => Ok("yes".to_owned()),
                Said::No(_) => Ok("no".to_owned()),
            },
            Err(Unanswered::Expired) => Err(
                "nobody answered in time: go on with what seems best and say so, or end the turn with what you need to know"
                    .to_owned(),
            ),
            Err(Unanswered::NotAsked(why)) => Err(format!("nobody was asked: {why}")),
        }
    }
}

fn checked(question: &str, choices: Vec<String>) -> Result<(String, Vec<String>), String> {
    let question = question.trim();
    if question.is_empty() {
        return Err("`question` is empty".to_owned());
    }
    if question.chars().count() > QUESTION {
        return Err(format!("`question` takes {QUESTION} characters"));
    }
    let choices: Vec<String> = choices
        .into_iter()
        .map(|choice| choice.trim().to_owned())
        .collect();
    if choices.len() > CHOICES {
        return Err(format!("`choices` takes {CHOICES}"));
    }
    if choices
        .iter()
        .any(|choice| choice.is_empty() || choice.chars().count() > CHOICE)
    {
        return Err(format!("each of `choices` takes 1 to {CHOICE} characters"));
    }
    Ok((question.to_owned(), choices))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_no_phone_can_show_is_not_asked() {
        let many = vec!["x".to_owned(); 9];
        for (question, choices) in [
            (" ", vec![]),
            (&*"x".repeat(1_501), vec![]),
            ("ok?", many),
            ("ok?", vec![" ".to_owned()]),
            ("ok?", vec!["x".repeat(101)]),
        ] {
            assert!(checked(question, choices).is_err(), "{question}");
        }
        assert_eq!(
            checked(" ok? ", vec![" yes ".to_owned()]),
            Ok(("ok?".to_owned(), vec!["yes".to_owned()]))
        );
    }
}
