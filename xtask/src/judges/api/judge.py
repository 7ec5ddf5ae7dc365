"""The official Python client uses the gateway's API as its endpoint."""

import base64
import struct
import uuid
import zlib

import openai

client = openai.OpenAI(max_retries=0)
checks = 0


def good(condition, what):
    global checks
    checks += 1
    assert condition, what


def ask(text, **more):
    return client.chat.completions.create(
        model="default", messages=[{"role": "user", "content": text}], **more
    )


def refused(kind, **request):
    try:
        client.chat.completions.create(**request)
    except kind as error:
        return error
    raise AssertionError(f"{request} was not refused with {kind}")


models = client.models.list()
good([model.id for model in models] == ["default"], models)
good(client.models.retrieve("default").object == "model", "a model")

whole = ask("hello")
text = whole.choices[0].message.content
good("I'm the demo model" in text, text)
good(whole.choices[0].finish_reason == "stop", whole)
good(whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens, whole.usage)

chunks = list(ask("hello", stream=True, stream_options={"include_usage": True}))
words = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
good(words == text, words)
good(chunks[0].choices[0].delta.role == "assistant", chunks[0])
good(chunks[-2].choices[0].finish_reason == "stop", chunks[-2])
good(chunks[-1].choices == [] and chunks[-1].usage is not None, chunks[-1])
good(len({chunk.id for chunk in chunks}) == 1, "one id")

with client.chat.completions.stream(model="default", messages=[{"role": "user", "content": "hello"}]) as stream:
    for _event in stream:
        pass
    good(stream.get_final_completion().choices[0].message.content == text, "the helper for streams")

# A chart: a remark, a tool, an answer, a file.
chart = ask("draw a chart of 3, 5, 8")
attachments = chart.choices[0].message.attachments
good(len(attachments) == 1 and attachments[0]["type"] == "image/png", attachments)
content = client.files.content(attachments[0]["id"]).read()
good(content.startswith(b"\x89PNG"), content[:20])
good(attachments[0]["url"] in chart.choices[0].message.content, chart)
streamed = list(ask("draw a chart of 3, 5, 8", stream=True))
words = "".join(chunk.choices[0].delta.content or "" for chunk in streamed)
good(words.endswith(chart.choices[0].message.content), words)


def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0))
png += chunk(b"IDAT", zlib.compress(b"\x00\xff\x00\x00")) + chunk(b"IEND", b"")
url = "data:image/png;base64," + base64.b64encode(png).decode()
parts = [{"type": "text", "text": "send it back"}, {"type": "image_url", "image_url": {"url": url}}]
back = client.chat.completions.create(model="default", messages=[{"role": "user", "content": parts}])
attachments = back.choices[0].message.attachments
good(client.files.content(attachments[0]["id"]).read() == png, "the picture came back")

history = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": text},
    {"role": "user", "content": "hello again"},
]
good(client.chat.completions.create(model="default", messages=history).choices[0].message.content, "a history")
for _ in range(2):
    ask("hello", extra_headers={"X-Tidings-Session": "judge"})
    checks += 1

key = {"Idempotency-Key": str(uuid.uuid4())}
first, again = ask("hello", extra_headers=key), ask("hello", extra_headers=key)
good(first.id == again.id and first.created == again.created, "asked once")

hello = [{"role": "user", "content": "hello"}]
error = refused(openai.UnprocessableEntityError, model="default", messages=hello, temperature=1, extra_headers=key)
good(error.code == "idempotency_key_reused", error)
error = refused(openai.NotFoundError, model="gpt-4o", messages=hello)
good(error.code == "model_not_found" and error.param == "model", error)
error = refused(openai.BadRequestError, model="default", messages=hello, n=2)
good(error.param == "n", error)
error = refused(openai.BadRequestError, model="default", messages=[{"role": "user", "content": 7}])
good(error.param == "messages[0].content", error)
error = refused(
    openai.BadRequestError,
    model="default",
    messages=hello,
    tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}],
)
good(error.param == "tools", error)
try:
    client.with_options(api_key="tdg_wrong").models.list()
    raise AssertionError("a wrong key was taken")
except openai.AuthenticationError as error:
    good(error.code == "invalid_api_key", error)

print(f"{checks} checks")
