//! The fixed prompt: persona, environment and tools stay small, and the same to the byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use model::{DeltaSink, ModelError, ModelPort, Reply, Request};
use sandbox::{Driver, Limits, Network, SandboxSpec};
use testkit::sandbox::NoSandbox;
use tidings_agent::{Tenant, system_prompt, tool_specs};
use waybill::Placement;

struct Silent;

#[async_trait]
impl ModelPort for Silent {
    fn name(&self) -> &str {
        "silent"
    }

    async fn ask(&self, _: &Request, _: DeltaSink<'_>) -> Result<Reply, ModelError> {
        Err(ModelError::Failed {
            provider: "silent".to_owned(),
            cause: "never asked".to_owned(),
        })
    }
}

fn tenant() -> Tenant {
    Tenant {
        model: Arc::new(Silent),
        sandbox: Arc::new(NoSandbox),
        spec: SandboxSpec {
            driver: Driver::Process,
            image: String::new(),
            mounts: Vec::new(),
            env: BTreeMap::new(),
            secret_env: BTreeMap::new(),
            network: Network::None,
            allow: Vec::new(),
            remote: None,
            limits: Limits::default(),
        },
        placement: Placement::PerProfile,
        persona: String::new(),
        steps: 60,
        attachment_bytes: 1 << 20,
    }
}

/// Tokens of English and JSON are rarely shorter than three bytes: an upper bound that needs no tokenizer.
fn at_most_tokens(text: &str) -> usize {
    text.len().div_ceil(3)
}

#[test]
fn the_fixed_prompt_with_its_tools_stays_under_3000_tokens() {
    let system = system_prompt(&tenant());
    let tools: Vec<(String, usize)> = tool_specs()
        .iter()
        .map(|spec| {
            (
                spec.name.clone(),
                at_most_tokens(&serde_json::to_string(spec).unwrap()),
            )
        })
        .collect();
    let all = at_most_tokens(&system) + tools.iter().map(|(_, tokens)| tokens).sum::<usize>();
    println!(
        "persona and environment: {}, tools: {tools:?}, together at most {all} tokens",
        at_most_tokens(&system)
    );
    assert!(all < 3_000, "{all} tokens");
    assert!(
        all < 1_600,
        "{all} tokens: it grew past what it was; is every word worth it?"
    );
}

#[test]
fn the_prompt_is_the_same_to_the_byte_each_time() {
    assert_eq!(system_prompt(&tenant()), system_prompt(&tenant()));
    assert_eq!(tool_specs(), tool_specs());
    let names: Vec<String> = tool_specs().into_iter().map(|spec| spec.name).collect();
    assert!(names.is_sorted(), "{names:?}");
}
