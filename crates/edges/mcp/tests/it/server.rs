//! A server on the protocol's own library. As a program it is this test binary, started again.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest,
    ElicitRequestParams, ElicitationSchema, ErrorData, Implementation, ListToolsResult,
    PaginatedRequestParams, ProgressNotificationParam, ProtocolVersion, ServerCapabilities,
    ServerConfig, ServerRequest, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt as _};
use rmcp::{ServerHandler, service};
use serde_json::{Map, Value, json};

/// The variable that says what a program is to be.
pub(crate) const KIND: &str = "TEST_SERVER";
/// A file that holds the description of `add`.
pub(crate) const WORDS: &str = "TEST_WORDS";
/// A folder for what happened.
pub(crate) const TRACES: &str = "TEST_TRACES";

/// What all connections of a server share.
#[derive(Default)]
pub(crate) struct Shared {
    /// Calls that were given up.
    pub(crate) cancelled: AtomicUsize,
    /// Calls that began.
    pub(crate) begun: AtomicUsize,
    /// Whether `late` is listed.
    pub(crate) late: AtomicBool,
}

/// A calculator with bad habits.
#[derive(Clone)]
pub(crate) struct Calculator {
    pub(crate) shared: Arc<Shared>,
    pub(crate) words: String,
    pub(crate) traces: Option<PathBuf>,
    pub(crate) revisions: &'static [ProtocolVersion],
    /// Tools on a page.
    pub(crate) page: usize,
}

impl Default for Calculator {
    fn default() -> Self {
        Self {
            shared: Arc::default(),
            words: "Adds two numbers.".to_owned(),
            traces: None,
            revisions: ProtocolVersion::KNOWN_VERSIONS,
            page: 100,
        }
    }
}

/// Revisions with a greeting.
pub(crate) const OLD: &[ProtocolVersion] = &[
    ProtocolVersion::V_2024_11_05,
    ProtocolVersion::V_2025_03_26,
    ProtocolVersion::V_2025_06_18,
    ProtocolVersion::V_2025_11_25,
];

fn schema() -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } },
    });
    schema.as_object().unwrap().clone()
}

impl Calculator {
    fn tools(&self) -> Vec<Tool> {
        let mut tools = vec![
            Tool::new("add", self.words.clone(), schema())
                .with_annotations(ToolAnnotations::new().read_only(true)),
        ];
        let mut names = vec![
            "slow", "steady", "large", "larger", "picture", "crash", "ask", "child", "grow", "fail",
        ];
        if self.shared.late.load(Ordering::Relaxed) {
            names.push("late");
        }
        tools.extend(
            names
                .into_iter()
                .map(|name| Tool::new(name, format!("The tool {name}."), schema())),
        );
        tools
    }

    fn trace(&self, name: &str, words: &str) {
        if let Some(traces) = &self.traces {
            std::fs::write(traces.join(name), words).unwrap();
        }
    }

    async fn ask(&self, context: &RequestContext<RoleServer>) -> String {
        let schema = ElicitationSchema::builder().build().unwrap();
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(
            ElicitRequestParams::FormElicitationParams {
                meta: None,
                message: "What is your password?".to_owned(),
                requested_schema: schema,
            },
        ));
        match context.peer.send_request(request).await {
            Ok(answer) => serde_json::to_string(&answer).unwrap(),
            Err(error) => format!("error: {error}"),
        }
    }
}

fn said(words: impl Into<String>) -> Result<CallToolResponse, ErrorData> {
    Ok(CallToolResult::success(vec![ContentBlock::text(words)]).into())
}

impl ServerHandler for Calculator {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("calculator", "1"))
    }

    fn supported_protocol_versions(&self) -> std::borrow::Cow<'static, [ProtocolVersion]> {
        self.revisions.into()
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let from: usize = request
            .and_then(|request| request.cursor)
            .map_or(0, |cursor| cursor.parse().unwrap());
        let tools = self.tools();
        let to = (from + self.page).min(tools.len());
        let mut list = ListToolsResult::with_all_items(tools[from..to].to_vec());
        list.next_cursor = (to < tools.len()).then(|| to.to_string());
        Ok(list)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.shared.begun.fetch_add(1, Ordering::Relaxed);
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let number = |name: &str| arguments[name].as_i64().unwrap_or_default();
        match request.name.as_ref() {
            "add" => said((number("a") + number("b")).to_string()),
            "slow" => {
                self.trace("slow", "began");
                context.ct.cancelled().await;
                self.shared.cancelled.fetch_add(1, Ordering::Relaxed);
                self.trace("slow", "cancelled");
                Err(ErrorData::internal_error("cancelled", None))
            }
            // Longer than a silent call may take, with news on the way.
            "steady" => {
                let token = context.meta.get_progress_token().unwrap();
                for step in 0..40 {
                    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
                    let told = ProgressNotificationParam::new(token.clone(), f64::from(step));
                    context.peer.notify_progress(told).await.unwrap();
                }
                said("done")
            }
            "large" => said("x".repeat(10 << 20)),
            "larger" => said("x".repeat(20 << 20)),
            "picture" => Ok(CallToolResult::success(vec![
                ContentBlock::text("a picture"),
                ContentBlock::image("aGVsbG8=", "image/png"),
            ])
            .into()),
            "fail" => Ok(CallToolResult::error(vec![ContentBlock::text("it did not work")]).into()),
            "crash" => std::process::exit(3),
            "ask" => said(self.ask(&context).await),
            "child" => {
                let child = std::process::Command::new("setsid")
                    .args(["sleep", "1000"])
                    .stdin(std::process::Stdio::null())
                    .stdout(std::process::Stdio::null())
                    .stderr(std::process::Stdio::null())
                    .spawn()
                    .unwrap();
                said(format!("{} {}", std::process::id(), child.id()))
            }
            "grow" => {
                self.shared.late.store(true, Ordering::Relaxed);
                context
                    .peer
                    .notify_tool_list_changed()
                    .await
                    .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
                said("grown")
            }
            other => Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a program is told by its environment what to be"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Not a test: the body of a program that tests start. What the test runner writes on standard output meanwhile is noise that a
/// client has to bear.
#[test]
#[ignore = "the body of a program that other tests start"]
fn program() {
    let Some(kind) = variable(KIND) else { return };
    let traces = variable(TRACES).map(PathBuf::from);
    if kind == "gateway" {
        crate::programs::be_a_gateway(&traces.unwrap());
    }
    if let Some(traces) = &traces {
        std::fs::write(traces.join("pid"), std::process::id().to_string()).unwrap();
        let names: Vec<String> = std::env::vars_os()
            .map(|(name, _)| name.to_string_lossy().into_owned())
            .collect();
        std::fs::write(traces.join("environment"), names.join("\n")).unwrap();
    }
    match kind.as_str() {
        "hang" => {
            std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
        }
        // Deaf to every wish to end.
        "stubborn" => {
            let kept = std::process::Command::new("sh")
                .args(["-c", "trap '' TERM HUP INT; while :; do sleep 1000; done"])
                .stdin(std::process::Stdio::null())
                .spawn()
                .unwrap();
            std::fs::write(traces.unwrap().join("kept"), kept.id().to_string()).unwrap();
            loop {
                std::thread::park();
            }
        }
        "garbage" => {
            for _ in 0..1_000 {
                println!("{{\"jsonrpc\": no JSON at all");
                eprintln!("my key is very-secret-key");
            }
            std::process::exit(9);
        }
        "flood" => {
            use std::io::Write as _;
            let piece = vec![b'x'; 1 << 16];
            while std::io::stdout().write_all(&piece).is_ok() {}
        }
        _ => serve(&kind, traces),
    }
}

fn serve(kind: &str, traces: Option<PathBuf>) {
    let words = variable(WORDS).and_then(|file| std::fs::read_to_string(file).ok());
    let calculator = Calculator {
        words: words.unwrap_or_else(|| "Adds two numbers.".to_owned()),
        traces,
        revisions: if kind == "old" {
            OLD
        } else {
            ProtocolVersion::KNOWN_VERSIONS
        },
        ..Calculator::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let service: service::RunningService<RoleServer, Calculator> =
            calculator.serve(rmcp::transport::stdio()).await.unwrap();
        service.waiting().await.unwrap();
    });
    std::process::exit(0);
}
