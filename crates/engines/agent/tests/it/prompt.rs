//! The fixed prompt: persona, environment and tools stay small, and the same to the byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use model::{DeltaSink, ModelError, ModelPort, Reply, Request};
use sandbox::{Driver, Limits, Network, SandboxSpec};
use testkit::knowledge::{MemoryNotes, MemoryShelf};
use testkit::sandbox::NoSandbox;
use tidings_agent::{Knowledge, Tenant, system_prompt, tool_specs};
use tool::{Download, Hit, Page, ToolError, Web};
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

/// A web that can be searched: all tools are offered.
struct Everything;

#[async_trait]
impl Web for Everything {
    async fn fetch(&self, _: &str) -> Result<Page, ToolError> {
        Err(ToolError::Failed("never asked".to_owned()))
    }

    async fn download(&self, _: &str, _: u64) -> Result<Download, ToolError> {
        Err(ToolError::Failed("never asked".to_owned()))
    }

    fn searches(&self) -> bool {
        true
    }

    async fn search(&self, _: &str, _: usize) -> Result<Vec<Hit>, ToolError> {
        Ok(Vec::new())
    }
}

fn tenant() -> Tenant {
    Tenant {
        model: Arc::new(Silent),
        fallback: Vec::new(),
        web: Some(Arc::new(Everything)),
        toolbox: None,
        knowledge: Some(Knowledge {
            notes: Arc::new(MemoryNotes::default()),
            skills: Arc::new(MemoryShelf::default()),
        }),
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
        approvals: policy::Approvals::default(),
        ask_seconds: 600,
    }
}

/// Tokens of English and JSON are rarely shorter than three bytes: an upper bound that needs no tokenizer.
fn at_most_tokens(text: &str) -> usize {
    text.len().div_ceil(3)
}

#[test]
fn the_fixed_prompt_with_its_tools_and_all_the_skills_it_may_name_stays_under_5000_tokens() {
    let system = system_prompt(&tenant());
    let tools: Vec<(String, usize)> = tool_specs(&tenant())
        .iter()
        .map(|spec| {
            (
                spec.name.clone(),
                at_most_tokens(&serde_json::to_string(spec).unwrap()),
            )
        })
        .collect();
    let skills = skills::INDEX_BYTES.div_ceil(3);
    let all =
        at_most_tokens(&system) + skills + tools.iter().map(|(_, tokens)| tokens).sum::<usize>();
    println!(
        "persona and environment: {}, skills at most {skills}, tools: {tools:?}, together at most {all} tokens",
        at_most_tokens(&system)
    );
    assert!(all < 5_000, "{all} tokens");
    assert!(
        all < 4_200,
        "{all} tokens: it grew past what it was; is every word worth it?"
    );
}

#[test]
fn the_prompt_is_the_same_to_the_byte_each_time() {
    assert_eq!(system_prompt(&tenant()), system_prompt(&tenant()));
    assert_eq!(tool_specs(&tenant()), tool_specs(&tenant()));
    let names: Vec<String> = tool_specs(&tenant())
        .into_iter()
        .map(|spec| spec.name)
        .collect();
    assert!(names.is_sorted(), "{names:?}");
}
