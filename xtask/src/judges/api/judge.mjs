// The official JavaScript client uses the gateway's API as its endpoint.

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import OpenAI from "openai";

const client = new OpenAI({ maxRetries: 0 });
let checks = 0;
const good = (condition, what) => {
  checks += 1;
  assert.ok(condition, typeof what === "string" ? what : JSON.stringify(what));
};
const request = (content, more = {}) => ({
  model: "default",
  messages: [{ role: "user", content }],
  ...more,
});
const ask = (content, more, options) => client.chat.completions.create(request(content, more), options);

const models = [];
for await (const model of client.models.list()) models.push(model.id);
assert.deepEqual(models, ["default"]);

const whole = await ask("hello");
const text = whole.choices[0].message.content;
good(text.includes("I'm the demo model"), text);
good(whole.choices[0].finish_reason === "stop", whole);

let words = "";
let usage;
let last;
for await (const chunk of await ask("hello", { stream: true, stream_options: { include_usage: true } })) {
  words += chunk.choices[0]?.delta?.content ?? "";
  usage = chunk.usage ?? usage;
  last = chunk.choices[0]?.finish_reason ?? last;
}
good(words === text, words);
good(last === "stop" && usage.total_tokens === usage.prompt_tokens + usage.completion_tokens, usage);

const helper = client.chat.completions.stream(request("hello"));
good((await helper.finalContent()) === text, "the helper for streams");

const chart = await ask("draw a chart of 3, 5, 8");
const [attachment] = chart.choices[0].message.attachments;
const bytes = Buffer.from(await (await client.files.content(attachment.id)).arrayBuffer());
good(bytes.subarray(1, 4).toString() === "PNG", attachment);

const url = `data:image/png;base64,${bytes.toString("base64")}`;
const back = await ask([
  { type: "text", text: "send it back" },
  { type: "image_url", image_url: { url } },
]);
const [returned] = back.choices[0].message.attachments;
const same = Buffer.from(await (await client.files.content(returned.id)).arrayBuffer());
good(same.equals(bytes), "the picture came back");

const key = { headers: { "Idempotency-Key": randomUUID() } };
const [first, again] = [await ask("hello", {}, key), await ask("hello", {}, key)];
good(first.id === again.id, "asked once");

const refused = async (kind, asked) => {
  try {
    await asked();
  } catch (error) {
    good(error instanceof kind, error);
    return error;
  }
  throw new Error(`not refused with ${kind.name}`);
};
const missing = await refused(OpenAI.NotFoundError, () => ask("hello", { model: "gpt-4o" }));
good(missing.code === "model_not_found", missing);
const wrong = await refused(OpenAI.BadRequestError, () => ask("hello", { n: 2 }));
good(wrong.param === "n", wrong);
const stranger = new OpenAI({ maxRetries: 0, apiKey: "tdg_wrong" });
await refused(OpenAI.AuthenticationError, () => stranger.models.list());

// Who stops reading leaves nothing hanging.
const cut = await ask("hello", { stream: true });
for await (const _chunk of cut) break;
good((await ask("hello")).choices[0].message.content === text, "it answers on");

console.log(`${checks} checks`);
