"""The official Python clients of OpenAI, Anthropic, Google and Ollama hear our scripted model: it speaks as the services do."""

import os

import anthropic
import ollama
import openai
from google import genai

BASE = os.environ["MODEL_BASE_URL"]
ARGUMENTS = {"command": 'echo "heron"', "deep": {"list": [1, "żółw", None]}}
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}
checks = 0


def good(condition, what):
    global checks
    checks += 1
    assert condition, what


def valid(values):
    """As the client's own types have it; the client itself takes nearly anything."""
    for value in values:
        type(value).model_validate(value.to_dict())
        good(not value.model_extra, value)


def refused(kind, call, **request):
    try:
        call(**request)
    except kind as error:
        good(True, error)
        return error
    raise AssertionError(f"{request} was not refused with {kind}")


def breaks_off(call, **request):
    heard = []
    try:
        for event in call(**request, stream=True):
            heard.append(event)
    except Exception as error:
        good(len(heard) > 0, error)
        return
    raise AssertionError("the stream ended well")


openai_client = openai.OpenAI(base_url=BASE, api_key="none", max_retries=0)
anthropic_client = anthropic.Anthropic(base_url=BASE.removesuffix("/v1"), api_key="none", max_retries=0)

genai_client = genai.Client(
    api_key="none", http_options=genai.types.HttpOptions(base_url=BASE.removesuffix("/v1"), api_version="v1beta")
)
ollama_client = ollama.Client(host=BASE.removesuffix("/v1"))


def person(text):
    return [{"role": "user", "content": text}]


def chat():
    import json

    create = openai_client.chat.completions.create
    tools = [{"type": "function", "function": {"name": name, "parameters": SCHEMA}} for name in ("terminal", "clock")]
    asked = dict(model="m", messages=person("how many herons?"), tools=tools)
    chunks = list(create(**asked, stream=True, stream_options={"include_usage": True}))
    valid(chunks)
    thought = "".join(getattr(chunk.choices[0].delta, "reasoning_content", None) or "" for chunk in chunks[:-1])
    good(thought == "They want a sum.", thought)
    with openai_client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
        for _event in stream:
            pass
        final = stream.get_final_completion()
    whole = create(**asked)
    valid([whole])
    for one in (final, whole):
        choice = one.choices[0]
        good(choice.message.content == "I'll look.", one)
        good(choice.finish_reason == "tool_calls", one)
        called = [(call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls]
        good(called == [("terminal", ARGUMENTS), ("clock", {})], called)
        good(len({call.id for call in choice.message.tool_calls}) == 2, one)
        good((one.usage.prompt_tokens, one.usage.completion_tokens) == (321, 45), one.usage)
    said = {"role": "assistant", "content": whole.choices[0].message.content}
    said["tool_calls"] = [call.to_dict() for call in whole.choices[0].message.tool_calls]
    results = [
        {"role": "tool", "tool_call_id": call["id"], "content": "heron-42"} for call in said["tool_calls"]
    ]
    history = asked["messages"] + [said] + results
    good(create(model="m", messages=history).choices[0].message.content == "Forty-two herons 🦆.", "an answer")
    refused(openai.BadRequestError, create, model="m", messages=history[:-1])
    refused(openai.BadRequestError, create, model="m", messages=[history[0], results[0]])
    good(create(model="m", messages=person("say too much")).choices[0].finish_reason == "length", "length")
    error = refused(openai.RateLimitError, create, model="m", messages=person("slow down"))
    good(error.response.headers["retry-after"] == "7", error)
    breaks_off(create, model="m", messages=person("break off"))


def responses():
    import json

    create = openai_client.responses.create
    tools = [
        {"type": "function", "name": name, "parameters": SCHEMA, "strict": False} for name in ("terminal", "clock")
    ]
    asked = dict(
        model="m",
        input=person("how many herons?"),
        tools=tools,
        store=False,
        include=["reasoning.encrypted_content"],
    )
    events = list(create(**asked, stream=True))
    valid(events)
    good([event.sequence_number for event in events] == list(range(len(events))), "a sequence")
    with openai_client.responses.stream(**asked) as stream:
        heard = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    good(heard == "I'll look.", heard)
    whole = create(**asked)
    valid([whole, events[-1].response])
    for one in (final, whole, events[-1].response):
        good(one.status == "completed" and one.output_text == "I'll look.", one)
        good([item.type for item in one.output] == ["reasoning", "message", "function_call", "function_call"], one)
        good(one.output[0].summary[0].text == "They want a sum.", one)
        called = [(item.name, json.loads(item.arguments)) for item in one.output[2:]]
        good(called == [("terminal", ARGUMENTS), ("clock", {})], called)
        good((one.usage.input_tokens, one.usage.output_tokens) == (321, 45), one.usage)
    results = [
        {"type": "function_call_output", "call_id": item.call_id, "output": "heron-42"} for item in whole.output[2:]
    ]
    history = asked["input"] + [item.to_dict() for item in whole.output] + results
    with openai_client.responses.stream(model="m", input=history, store=False) as stream:
        good(stream.get_final_response().output_text == "Forty-two herons 🦆.", "an answer")
    refused(openai.BadRequestError, create, model="m", input=history[:-1])
    refused(openai.BadRequestError, create, model="m", input=[history[0], results[0]])
    history[1]["summary"][0]["text"] = "They want a difference."
    refused(openai.BadRequestError, create, model="m", input=history)
    cut = create(model="m", input="say too much")
    good((cut.status, cut.incomplete_details.reason) == ("incomplete", "max_output_tokens"), cut)
    refused(openai.RateLimitError, create, model="m", input="slow down")
    breaks_off(create, model="m", input="break off")


def messages():
    create = anthropic_client.messages.create
    tools = [{"name": name, "input_schema": SCHEMA} for name in ("terminal", "clock")]
    asked = dict(model="m", max_tokens=4096, messages=person("how many herons?"), tools=tools)
    events = list(create(**asked, stream=True))
    valid([event for event in events if event.type != "ping"])
    with anthropic_client.messages.stream(**asked) as stream:
        heard = "".join(stream.text_stream)
        final = stream.get_final_message()
    good(heard == "I'll look.", heard)
    whole = create(**asked)
    valid([whole])
    for one in (final, whole):
        good([block.type for block in one.content] == ["thinking", "text", "tool_use", "tool_use"], one)
        good(one.content[0].thinking == "They want a sum." and one.content[0].signature, one)
        good(one.content[1].text == "I'll look.", one)
        called = [(block.name, block.input) for block in one.content[2:]]
        good(called == [("terminal", ARGUMENTS), ("clock", {})], called)
        good(one.stop_reason == "tool_use", one)
        good((one.usage.input_tokens, one.usage.output_tokens) == (321, 45), one.usage)
    good(final.content[0].signature == whole.content[0].signature, "one signature")
    said = {"role": "assistant", "content": final.content}
    results = [{"type": "tool_result", "tool_use_id": block.id, "content": "heron-42"} for block in final.content[2:]]
    request = dict(model="m", max_tokens=4096, tools=tools)
    history = asked["messages"] + [said, {"role": "user", "content": results}]
    with anthropic_client.messages.stream(**request, messages=history) as stream:
        good(stream.get_final_text() == "Forty-two herons 🦆.", "an answer")
    kind = anthropic.BadRequestError
    error = refused(kind, create, **request, messages=history[:2] + [{"role": "user", "content": results[:1]}])
    good(error.body["type"] == "error" and error.body["error"]["type"] == "invalid_request_error", error.body)
    refused(kind, create, **request, messages=[history[0], said, {"role": "user", "content": "and?"}])
    blocks = [block.to_dict() for block in whole.content]
    blocks[0]["thinking"] = "They want a difference."
    refused(kind, create, **request, messages=[history[0], {"role": "assistant", "content": blocks}, history[2]])
    request = dict(model="m", max_tokens=4096)
    good(create(**request, messages=person("say too much")).stop_reason == "max_tokens", "length")
    good(create(**request, messages=person("say nothing of it")).stop_reason == "refusal", "a refusal")
    refused(anthropic.RateLimitError, create, **request, messages=person("slow down"))
    breaks_off(create, **request, messages=person("break off"))


def gemini():
    asked = dict(model="m", contents="how many herons?")
    models = genai_client.models
    pieces = list(models.generate_content_stream(**asked))
    whole = models.generate_content(**asked)
    for parts in ([part for piece in pieces for part in piece.candidates[0].content.parts], whole.candidates[0].content.parts):
        words = "".join(part.text or "" for part in parts if not part.thought)
        thought = "".join(part.text or "" for part in parts if part.thought)
        good((words, thought) == ("I'll look.", "They want a sum."), parts)
        called = [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]
        good(called == [("terminal", ARGUMENTS), ("clock", {})], called)
    for one in (pieces[-1], whole):
        good(one.candidates[0].finish_reason == "STOP", one)
        good((one.usage_metadata.prompt_token_count, one.usage_metadata.candidates_token_count) == (321, 45), one)
    said = whole.candidates[0].content
    results = [
        genai.types.Part(function_response=genai.types.FunctionResponse(id=call.id, name=call.name, response={"output": "heron-42"}))
        for call in whole.function_calls
    ]
    person_said = genai.types.Content(role="user", parts=[genai.types.Part(text="how many herons?")])
    said.parts = [part for part in said.parts if not part.thought]
    history = [person_said, said, genai.types.Content(role="user", parts=results)]
    good(models.generate_content(model="m", contents=history).text == "Forty-two herons 🦆.", "an answer")
    error = refused(genai.errors.ClientError, models.generate_content, model="m", contents=history[:2])
    good(error.status == "INVALID_ARGUMENT", error)
    good(models.generate_content(model="m", contents="say too much").candidates[0].finish_reason == "MAX_TOKENS", "length")


def local():
    asked = dict(model="m", messages=person("how many herons?"), options={"num_ctx": 32768})
    pieces = list(ollama_client.chat(**asked, stream=True))
    whole = ollama_client.chat(**asked)
    for all in (pieces, [whole]):
        words = "".join(piece.message.content or "" for piece in all)
        thought = "".join(piece.message.thinking or "" for piece in all)
        good((words, thought) == ("I'll look.", "They want a sum."), all)
        calls = [call.function for piece in all for call in piece.message.tool_calls or []]
        good([(call.name, call.arguments) for call in calls] == [("terminal", ARGUMENTS), ("clock", {})], calls)
        good((all[-1].done, all[-1].prompt_eval_count, all[-1].eval_count) == (True, 321, 45), all[-1])
    results = [{"role": "tool", "tool_name": call.function.name, "content": "heron-42"} for call in whole.message.tool_calls]
    history = asked["messages"] + [whole.message] + results
    asked["messages"] = history
    good(ollama_client.chat(**asked).message.content == "Forty-two herons 🦆.", "an answer")
    asked["messages"] = history[:-1]
    error = refused(ollama.ResponseError, ollama_client.chat, **asked)
    good(error.status_code == 400 and "were not answered" in error.error, error)


for judged in (chat, responses, messages, gemini, local):
    before = checks
    judged()
    print(f"{judged.__name__}: {checks - before} checks", end="; ")
print(f"{checks} in all")
