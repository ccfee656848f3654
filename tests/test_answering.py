"""The model call: retries, fallbacks, deadlines, what is told of a reply, prompts that are too long, thinking."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from conversation import EVERYTHING, say, thread
from langchain_core.language_models.fake_chat_models import ParrotFakeChatModel
from langchain_core.messages import AIMessage
from scripted import BreaksOff, calls, scripted

from everthread import ModelError, Settings, open_graph
from everthread.models.failures import failure_of
from everthread.models.replies import finish_of
from everthread.text.replies import DISCLAIMER
from everthread.text.tokens import count_message_tokens


class Refused(Exception):  # noqa: N818
    """An error with a status, as providers' packages raise them."""

    def __init__(self, status: int, text: str = "no", **more: Any) -> None:
        super().__init__(text)
        self.status_code = status
        self.__dict__.update(more)


LIMITED = Refused(429, "Rate limit reached, please try again in 20ms")


async def streamed(graph: Any, text: str, into: list[Any] | None = None) -> list[Any]:
    """The chunks of one turn in the stream of messages; `into` has those before an error, too."""
    chunks = [] if into is None else into
    turn = {"messages": [("user", text)]}
    async for part in graph.astream(turn, thread(), context={"user_id": "ada"}, stream_mode="messages"):
        chunks.append(part[0])
    return chunks


@pytest.mark.parametrize(
    "error",
    [LIMITED, Refused(503), Refused(529), ConnectionResetError("reset"), type("ReadTimeout", (Exception,), {})("slow")],
    ids=lambda error: f"{type(error).__name__} {getattr(error, 'status_code', '')}",
)
async def test_a_passing_failure_is_tried_again(reopen: Callable[..., open_graph], error: Exception) -> None:
    model = scripted(error, "Here I am.")
    async with reopen(model=model) as graph:
        state = await say(graph, "hello")
    assert state["messages"][-1].text == "Here I am."
    first, second = state["reply"].calls
    assert (first.failure in {"rate_limit", "server", "connection", "timeout"}, second.failure) == (True, None)


async def test_retries_end_and_the_error_says_what_it_was(reopen: Callable[..., open_graph]) -> None:
    model = scripted(Refused(503, "come back later"))
    async with reopen(model=model, timeouts="retries=1") as graph:
        with pytest.raises(ModelError, match=r"'scripted' failed: come back later\. What you said is kept"):
            await say(graph, "hello")
    assert len(model.prompts) == 2


@pytest.mark.parametrize("error", [Refused(401), Refused(400), ValueError("what?"), Refused(429, "insufficient_quota")])
async def test_a_lasting_failure_goes_to_the_next_model_at_once(
    reopen: Callable[..., open_graph], error: Exception
) -> None:
    first, second = scripted(error, name="first"), scripted("I can.", name="second")
    async with reopen(model=first, fallbacks=[second]) as graph:
        state = await say(graph, "hello")
    assert len(first.prompts) == 1
    assert state["reply"].model == "second"
    assert [(call.model, call.failure is None) for call in state["reply"].calls] == [("first", False), ("second", True)]


async def test_fallbacks_are_asked_in_order_and_may_be_named_in_the_settings(
    reopen: Callable[..., open_graph],
) -> None:
    assert Settings(fallback_models="a:b, offline").fallback_models == ("a:b", "offline")  # type: ignore[arg-type]
    first = scripted(Refused(500), name="first")
    names = ("nowhere:model", "offline")
    async with reopen(model=first, fallback_models=names, timeouts="retries=0") as graph:
        state = await say(graph, "hello")
    assert state["messages"][-1].text.startswith(DISCLAIMER)
    assert [call.model for call in state["reply"].calls] == ["first", "nowhere:model", "offline"]
    assert "unknown provider" in state["reply"].calls[1].error


async def test_a_first_model_that_cannot_be_loaded_is_passed_over(reopen: Callable[..., open_graph]) -> None:
    async with reopen(model=None, fallback_models=("offline",)) as graph:
        state = await say(graph, "hello", model="nowhere:model")
    assert [call.model for call in state["reply"].calls] == ["nowhere:model", "offline"]


async def test_where_no_model_answers_each_is_named_with_its_reason(reopen: Callable[..., open_graph]) -> None:
    first, second = scripted(Refused(401, "bad key"), name="first"), scripted(Refused(400, "bad"), name="second")
    async with reopen(model=first, fallbacks=[second]) as graph:
        with pytest.raises(ModelError, match=r"None of 2 chat models answered: 'first': bad key; 'second': bad\."):
            await say(graph, "hello")
        assert (await graph.aget_state(thread())).values["messages"][-1].text == "hello"


async def test_a_slow_model_is_given_up_and_the_next_answers(reopen: Callable[..., open_graph]) -> None:
    slow = scripted(30, "late", name="slow")
    async with reopen(model=slow, fallbacks=[scripted("quick")], timeouts={"model": 1}) as graph:
        state = await say(graph, "hello")
        assert state["messages"][-1].text == "quick"
        assert state["reply"].calls[0].failure == "timeout"
    async with reopen(model=scripted(30, "late"), timeouts={"reply": 0.2}) as graph:
        with pytest.raises(ModelError, match=r"took longer than 0\.2 s.*raise EVERTHREAD_REPLY_TIMEOUT"):
            await say(graph, "hello", to="t2")


async def test_a_fallback_with_a_smaller_window_gets_what_fits_it(reopen: Callable[..., open_graph]) -> None:
    small = scripted("It fits.", name="small")
    small.profile = {"max_input_tokens": 500}
    first = scripted("One.", "Two.", "Three.", Refused(400))
    async with reopen(model=first, fallbacks=[small], n_sum=40) as graph:
        for n in range(3):
            await say(graph, f"Remark {n}: " + "we talked about the garden at length. " * 20)
        state = await say(graph, "And now?")
    assert count_message_tokens(first.prompts[-1]) > 500
    assert count_message_tokens(small.prompts[0]) <= 500
    assert state["context_report"].budget <= 500


async def test_a_provider_that_asks_to_wait_for_long_is_not_waited_for_where_another_can_answer(
    reopen: Callable[..., open_graph],
) -> None:
    limited = scripted(Refused(429, "Please retry in 3600s"))
    async with reopen(model=limited, fallbacks=[scripted("quick")]) as graph:
        assert (await say(graph, "hello"))["messages"][-1].text == "quick"
    assert len(limited.prompts) == 1


async def test_no_text_is_in_the_stream_twice(reopen: Callable[..., open_graph]) -> None:
    """What has been shown cannot be taken back: a stream that broke off is an error, and not another text after it."""
    first, second = scripted(BreaksOff("The answer is ", ConnectionError("cut"))), scripted("Forty-two.")
    async with reopen(model=first, fallbacks=[second]) as graph:
        seen: list[Any] = []
        with pytest.raises(ModelError, match=r"broke off after 14 characters: cut"):
            await streamed(graph, "x", into=seen)
        assert "".join(chunk.text for chunk in seen) == "The answer is "
        assert second.prompts == []
        kept = (await graph.aget_state(thread())).values["messages"]
        assert [message.text for message in kept] == ["x"]


async def test_what_nobody_has_seen_may_be_said_anew(reopen: Callable[..., open_graph]) -> None:
    first, second = scripted(BreaksOff("The answer is ", ConnectionError("cut"))), scripted("Forty-two.")
    async with reopen(model=first, fallbacks=[second], timeouts="retries=0") as graph:
        assert (await say(graph, "x"))["messages"][-1].text == "Forty-two."
    before = scripted(ConnectionError("cut"))
    async with reopen(model=before, fallbacks=[second], timeouts="retries=0") as graph:
        assert "".join(chunk.text for chunk in await streamed(graph, "x")) == "Forty-two."


@pytest.mark.parametrize(
    ("metadata", "finish"),
    [
        ({"finish_reason": "stop"}, "stop"), ({"stop_reason": "end_turn"}, "stop"), ({"done_reason": "stop"}, "stop"),
        ({"finish_reason": "STOP"}, "stop"), ({"status": "completed"}, "stop"), ({"stopReason": "end_turn"}, "stop"),
        ({"finish_reason": "length"}, "length"), ({"stop_reason": "max_tokens"}, "length"),
        ({"finish_reason": "MAX_TOKENS"}, "length"), ({"done_reason": "length"}, "length"),
        ({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}, "length"),
        ({"finish_reason": "content_filter"}, "refusal"), ({"stop_reason": "refusal"}, "refusal"),
        ({"finish_reason": "SAFETY"}, "refusal"), ({"stopReason": "guardrail_intervened"}, "refusal"),
        ({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}, "refusal"),
        ({"finish_reason": "FINISH_REASON_STOP"}, "stop"), ({"stop_reason": "pause_turn"}, "other"), ({}, None),
        ({"finish_reason": "stopstop"}, "stop"), ({"finish_reason": "ERROR_TOXIC"}, "refusal"),
        ({"finish_reason": "IMAGE_PROHIBITED_CONTENT"}, "refusal"),
        ({"finish_reason": "STOP", "prompt_feedback": {"block_reason": 0}}, "stop"),
    ],
)  # fmt: skip
async def test_why_a_reply_ended_is_told_alike_for_all_providers(metadata: Any, finish: Any) -> None:
    assert finish_of(AIMessage("Some text", response_metadata=metadata))[0] == finish


async def test_a_cut_reply_and_a_refusal_are_marked(reopen: Callable[..., open_graph]) -> None:
    cut = AIMessage("It begins", response_metadata={"finish_reason": "length"})
    refusal = AIMessage("", additional_kwargs={"refusal": "I will not."})
    async with reopen(model=scripted(cut, refusal)) as graph:
        assert (await say(graph, "Tell me all."))["reply"].finish == "length"
        state = await say(graph, "Tell me more.")
    assert (state["reply"].finish, state["messages"][-1].text) == ("refusal", "I will not.")


async def test_a_refusal_without_words_is_an_error_and_no_other_model_is_asked(
    reopen: Callable[..., open_graph],
) -> None:
    other = scripted("Sure!")
    blocked = AIMessage("", response_metadata={"finish_reason": "SAFETY"})
    not_let_in = AIMessage("", response_metadata={"prompt_feedback": {"block_reason": "PROHIBITED_CONTENT"}})
    for script in (
        blocked,
        not_let_in,
        Refused(400, "The response was filtered", code="content_filter", body="content_filter"),
    ):
        async with reopen(model=scripted(script), fallbacks=[other]) as graph:
            with pytest.raises(ModelError, match=r"'scripted' refused to answer: .* say it in other words"):
                await say(graph, "hello")
    assert other.prompts == []


async def test_an_empty_reply_is_asked_for_once_more_then_it_is_an_error(reopen: Callable[..., open_graph]) -> None:
    model = scripted("", "Here.")
    async with reopen(model=model) as graph:
        assert (await say(graph, "hello"))["messages"][-1].text == "Here."
    model = scripted("  \n")
    async with reopen(model=model) as graph:
        with pytest.raises(ModelError, match="'scripted' said nothing twice: the reply was empty"):
            await say(graph, "hello", to="t2")
    assert len(model.prompts) == 2


async def test_a_reply_cut_before_its_first_word_names_the_setting(reopen: Callable[..., open_graph]) -> None:
    thought = AIMessage(
        [{"type": "thinking", "thinking": "Let me see", "signature": "s"}],
        response_metadata={"stop_reason": "max_tokens"},
    )
    async with reopen(model=scripted(thought)) as graph:
        with pytest.raises(ModelError, match="cut before its first word: raise EVERTHREAD_MAX_REPLY_TOKENS"):
            await say(graph, "hello")


TOO_LONG = {
    "openai": "This model's maximum context length is 1000 tokens. However, your messages resulted in 2000 tokens. "
    "Please reduce the length of the messages.",
    "openai with completion": "This model's maximum context length is 1000 tokens. However, you requested 2512 tokens "
    "(2000 in the messages, 512 in the completion). Please reduce the length of the messages or completion.",
    "openai responses": "Input tokens exceed the configured limit of 1000 tokens. Your messages resulted in 2000 "
    "tokens. Please reduce the length of the messages.",
    "anthropic": "prompt is too long: 2000 tokens > 1000 maximum",
    "anthropic with reply": "input length and `max_tokens` exceed context limit: 2000 + 512 > 1000, decrease input "
    "length or `max_tokens` and try again",
    "google": "The input token count (2000) exceeds the maximum number of tokens allowed (1000).",
    "llama.cpp": "{'error': {'code': 400, 'message': 'the request exceeds the available context size. try increasing "
    "the context size or enable context shift', 'type': 'exceed_context_size_error', 'n_prompt_tokens': 2000, "
    "'n_ctx': 1000}}",
    "llama.cpp in words": "request (2000 tokens) exceeds the available context size (1000 tokens), try increasing it",
    "llama-cpp-python": "Requested tokens (2000) exceed context window of 1000",
    "gguf": "The prompt has 2000 tokens, the model's window is 1000: send less.",
    "xai": "This model's maximum prompt length is 1000 but the request contains 2000 tokens.",
    "vllm": "The decoder prompt (length 2000) is longer than the maximum model length of 1000.",
    "vllm, newer": "You passed 2000 input tokens and requested 512 output tokens. However, the model's context length "
    "is only 1000 tokens, resulting in a maximum input length of 488 tokens.",
    "sglang": "The input (2000 tokens) is longer than the model's context length (1000 tokens).",
    "sglang with reply": "Requested token count exceeds the model's maximum context length of 1000 tokens. You "
    "requested a total of 2512 tokens: 2000 tokens from the input messages and 512 tokens for the completion.",
    "bedrock": "400 Bad Request: Too many input tokens. Max input tokens: 1000, request input token count: 2000",
    "mistral": "Prompt contains 2000 tokens and 0 draft tokens, too large for model with 1000 maximum context length",
    "fireworks": "The prompt is too long: 2000, model maximum context length: 1000",
    "hugging face": "Input validation error: `inputs` must have less than 1000 tokens. Given: 2000",
    "watsonx": "the number of input tokens 2000 cannot exceed the total tokens limit 1000 for this model",
    "openrouter": "This endpoint's maximum context length is 1000 tokens. However, you requested about 2000 tokens",
    "cohere": "too many tokens: total number of tokens in the prompt cannot exceed 1000 - received 2000.",
    "tokens per minute": "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 1000, "
    "Requested 2000. The input or output tokens must be reduced in order to run successfully.",
}
NO_NUMBERS = {
    "ollama": "the input length exceeds the context length",
    "bedrock": "Input is too long for requested model.",
    "openai code": "Error code: 400 - {'error': {'code': 'context_length_exceeded', 'message': 'too long'}}",
    "bedrock, nova": "ValidationException: Input Tokens Exceeded: Number of input tokens exceeds maximum length.",
    "bedrock, titan": "Malformed input request: expected maxLength: 42000, actual: 50000, please reformat your input",
    "groq": "Please reduce the length of the messages or completion.",
    "github models": "Request body too large for gpt-4o model. Max size: 8000 tokens.",
    "google bytes": "Request payload size exceeds the limit: 20971520 bytes.",
    "lm studio": "The number of tokens to keep from the initial prompt is greater than the context length.",
    "dashscope": "Range of input length should be [1, 30720]",
    "openai bytes": "string too long. Expected a string with maximum length 10485760, but got a string with length 2.",
    "any": "Your request exceeds the model's context window.",
    "openai stream": "Your input exceeds the context window of this model. Please adjust your input and try again.",
}


@pytest.mark.parametrize("provider", TOO_LONG)
def test_the_words_of_each_provider_for_a_prompt_that_is_too_long_are_known_with_their_numbers(provider: str) -> None:
    failure = failure_of(Refused(429 if "minute" in provider else 400, TOO_LONG[provider]))
    assert (failure.kind, failure.asked, failure.window) == ("context", 2000, 1000)


@pytest.mark.parametrize("provider", NO_NUMBERS)
def test_they_are_known_without_numbers_too(provider: str) -> None:
    assert failure_of(RuntimeError(NO_NUMBERS[provider])).kind == "context"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Refused(400, "max_tokens must be at least 1"), "other"),
        (Refused(429, "You exceeded your current quota, please check your plan and billing details."), "quota"),
        (Refused(200, "Overloaded", body={"type": "error", "error": {"type": "overloaded_error"}}), "server"),
        (RuntimeError("429 RESOURCE_EXHAUSTED. {'retryDelay': '34s'}"), "rate_limit"),
        (type("APIConnectionError", (Exception,), {})("Connection error."), "connection"),
        (type("AuthenticationError", (Exception,), {})("no"), "key"),
        (KeyError("choices"), "other"),
    ],
    ids=str,
)
def test_other_errors_are_told_apart(error: Exception, kind: str) -> None:
    assert failure_of(error).kind == kind


def test_how_long_to_wait_is_read_from_headers_and_words() -> None:
    class Response:
        headers = {"retry-after": "7"}  # noqa: RUF012

    assert failure_of(Refused(429, response=Response())).wait == 7.0
    assert failure_of(RuntimeError("429 RESOURCE_EXHAUSTED. {'retryDelay': '34s'}")).wait == 34.0
    assert failure_of(LIMITED).wait == pytest.approx(0.02)
    assert failure_of(Refused(429)).wait is None
    Response.headers = {"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=60))}
    assert failure_of(Refused(429, response=Response())).wait == pytest.approx(60, abs=2)
    for useless in ("nan", "inf", "soon", "-3"):
        Response.headers = {"retry-after": useless}
        assert not failure_of(Refused(429, response=Response())).wait


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Refused(502, "<html>\n<head><title>502 Bad Gateway</title></head>\n<body>"), "502 Bad Gateway"),
        (Refused(503, "<!DOCTYPE html>\n<p>Sorry</p>"), "HTTP 503"),
        (KeyError("candidates"), "KeyError 'candidates'"),
        (ValueError("x" * 100_000), "x" * 499 + "…"),
    ],
    ids=["page", "page without title", "key", "long"],
)
def test_the_reason_of_a_failure_is_short_and_says_something(error: Exception, reason: str) -> None:
    assert failure_of(error).reason == reason


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (Refused(401, "Wrong key"), "check the API key at its provider"),
        (Refused(402, "No money"), "check the account at its provider"),
        (Refused(429, "Too many, try again in 900s"), "retry in 900 s"),
    ],
)
async def test_the_error_says_what_helps(reopen: Callable[..., open_graph], error: Exception, said: str) -> None:
    async with reopen(model=scripted(error)) as graph:
        with pytest.raises(ModelError, match=said) as caught:
            await say(graph, "hello")
    assert [call.failure for call in caught.value.calls] == [failure_of(error).kind]


@pytest.mark.parametrize("text", [TOO_LONG["anthropic"], NO_NUMBERS["ollama"]], ids=["numbers", "no numbers"])
async def test_a_prompt_that_is_too_long_is_sent_again_smaller_once(
    reopen: Callable[..., open_graph], text: str
) -> None:
    model = scripted("One.", "Two.", "Three.", Refused(400, text), "It fits.")
    # No summary is made in between: what is made smaller is the recent part of the chain.
    async with reopen(model=model, n_sum=40) as graph:
        for n in range(3):
            await say(graph, f"Remark {n}: " + "we talked about the garden at length. " * 20)
        state = await say(graph, "And now?")
    large, small = (count_message_tokens(prompt) for prompt in model.prompts[-2:])
    assert small < 0.7 * large
    assert model.prompts[-1][-1].text.endswith("And now?")
    assert state["messages"][-1].text == "It fits."
    assert [call.failure for call in state["reply"].calls] == ["context", None]
    assert state["context_report"].tokens < 0.7 * large


async def test_a_prompt_that_stays_too_long_is_a_clear_error_with_the_numbers(
    reopen: Callable[..., open_graph],
) -> None:
    model = scripted(Refused(400, TOO_LONG["google"]))
    async with reopen(model=model) as graph:
        with pytest.raises(
            ModelError, match=r"too long for the chat model 'scripted'.*2000 tokens, the model takes 1000"
        ):
            await say(graph, "hello")
    assert len(model.prompts) == 2


async def test_a_window_that_the_provider_told_is_kept_to_in_the_turns_after(reopen: Callable[..., open_graph]) -> None:
    """Else each turn of a long conversation is sent twice."""
    model = scripted("One.", "Two.", "Three.", Refused(400, TOO_LONG["anthropic"]), "It fits.")
    async with reopen(model=model, n_sum=40, max_reply_tokens=200) as graph:
        for n in range(3):
            await say(graph, f"Remark {n}: " + "we talked about the garden at length. " * 20)
        await say(graph, "And now?")
        state = await say(graph, "And then?")
        assert [call.failure for call in state["reply"].calls] == [None]
        assert state["context_report"].budget == 800
        state = await say(graph, "Hello.", to="another")
        assert state["context_report"].budget == 800


async def test_where_the_prompt_fits_but_not_with_the_reply_the_error_says_so(
    reopen: Callable[..., open_graph],
) -> None:
    """An Anthropic prompt of 198,000 tokens is within 200,000: it is the reply that has no room."""
    model = scripted(Refused(400, "input length and `max_tokens` exceed context limit: 900 + 512 > 1000"))
    async with reopen(model=model) as graph:
        with pytest.raises(ModelError, match=r"it had 900 tokens, the model takes 1000 together with the reply"):
            await say(graph, "hello")


async def test_thinking_is_kept_and_sent_back_as_it_was_and_is_no_text(reopen: Callable[..., open_graph]) -> None:
    blocks = [
        {"type": "thinking", "thinking": "The user greets me.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "b3BhcXVl"},
        {"type": "text", "text": "Good morning!"},
    ]
    model = scripted(AIMessage(blocks), "And to you.")  # type: ignore[arg-type]
    async with reopen(model=model) as graph:
        state = await say(graph, "Hello.")
        assert state["messages"][-1].text == "Good morning!"
        await say(graph, "How are you?")
    assert model.prompts[1][2].content == blocks
    kept = (await reopen().resources.of_user("ada").archive.messages("t1"))[1]
    assert (kept.text, kept.message.content) == ("Good morning!", blocks)


async def test_thinking_before_a_tool_call_goes_back_with_the_result(reopen: Callable[..., open_graph]) -> None:
    def clock() -> str:
        """The time."""
        return "noon"

    asked = calls(("clock", {}))
    asked.content = [{"type": "thinking", "thinking": "I need the time.", "signature": "c2ln"}]
    model = scripted(asked, "Noon.")
    async with reopen(model=model, tools=[clock]) as graph:
        await say(graph, "What time is it?")
    assert model.prompts[1][2].content == asked.content
    assert model.prompts[1][3].text == "noon"


async def test_heavy_thinking_leaves_the_prompt_after_two_turns_and_no_words_take_its_place(
    reopen: Callable[..., open_graph],
) -> None:
    blocks = [{"type": "reasoning", "encrypted_content": "A" * 40_000}, {"type": "text", "text": "Good morning!"}]
    model = scripted(AIMessage(blocks), "Yes.")  # type: ignore[arg-type]
    async with reopen(model=model, n_sum=40, max_context_tokens=100_000) as graph:
        for text in ["Hello.", "Well?", "And?"]:
            state = await say(graph, text)
    assert model.prompts[1][2].content == blocks
    assert model.prompts[2][2].content == [{"type": "text", "text": "Good morning!"}]
    assert state["messages"][1].content == blocks
    assert (await reopen().resources.of_user("ada").archive.messages("t1"))[1].message.content == blocks


async def test_a_turn_without_a_small_model_or_a_summarizer_is_one_call(reopen: Callable[..., open_graph]) -> None:
    """Field reports graphiti #290, #186, #865: hundreds of calls a message; the write path needs no model."""
    model = scripted("Noted.")
    async with reopen(model=model) as graph:
        for n in range(8):
            await say(graph, f"Remark {n} about the garden.")
    assert len(model.prompts) == 8


async def test_after_a_rate_limit_nothing_is_lost_and_the_turn_goes_on_where_it_was(
    reopen: Callable[..., open_graph],
) -> None:
    """Field reports graphiti #787, #1516: after a rate limit nobody knew what had been written."""
    model = scripted("One.", LIMITED, "Two.")
    async with reopen(model=model, timeouts="retries=0") as graph:
        await say(graph, "First.")
        with pytest.raises(ModelError, match="Rate limit reached"):
            await say(graph, "Second.")
        assert (await graph.aget_state(thread())).next == ("llm_call",)
        await graph.ainvoke(None, thread(), context={"user_id": "ada"})
    kept = await reopen().resources.of_user("ada").archive.messages("t1")
    assert [message.text for message in kept] == ["First.", "One.", "Second.", "Two."]


async def test_a_turn_that_is_resumed_is_told_what_was_said_and_the_memories_again(
    reopen: Callable[..., open_graph],
) -> None:
    """What describes one turn alone is in no checkpoint: another process makes it again."""
    async with reopen(model=scripted("Noted."), n_sum=6) as graph:
        await say(graph, "My dog is called Biscuit.", to="other")
        for text in ["I moved to Lisbon in May 2021.", "I work as a nurse.", "My sister Clara lives in Porto."]:
            await say(graph, text)
    async with reopen(model=scripted(ConnectionError("down")), timeouts="retries=0", n_sum=6) as graph:
        with pytest.raises(ModelError, match="down"):
            await say(graph, "What is my dog called, and where does Clara live?")
    model = scripted("Biscuit. In Porto.")
    async with reopen(model=model, n_sum=6) as graph:
        state = await graph.ainvoke(None, thread(), context={"user_id": "ada"}, output_keys=EVERYTHING)
        chain = (await graph.aget_state(thread())).values["chain"]["links"]
    prompt = "\n".join(message.text for message in model.prompts[0])
    assert "Clara lives in Porto" in prompt
    assert "Biscuit" in prompt
    assert [message.type for message in state["messages"]] == ["human", "ai"] * 4
    assert [link.get("level") for link in chain] == [None, None, None, 1, None, None]


async def test_a_turn_resumed_where_the_state_was_gone_brings_the_conversation_back(
    reopen: Callable[..., open_graph],
) -> None:
    model = scripted("One.", "Two.", "Three.")
    async with reopen(model=model) as graph:
        await say(graph, "First.")
        await say(graph, "Second.")
        await graph.checkpointer.adelete_thread("t1")
        await graph.aupdate_state(thread(), {"messages": [("user", "Third.")]}, as_node="context_assembly")
        state = await graph.ainvoke(None, thread(), context={"user_id": "ada"})
        said = ["First.", "One.", "Second.", "Two.", "Third.", "Three."]
        assert [message.text for message in state["messages"]] == said
        assert [message.text for message in model.prompts[2][1:]] == said[:-1]
        assert len((await graph.aget_state(thread())).values["chain"]["links"]) == 4  # one is a summary
    kept = await reopen().resources.of_user("ada").archive.page("t1", limit=10, with_left=True)
    assert [(message.text, message.left_at) for message in kept] == [(text, None) for text in said]


async def test_a_message_that_a_fake_model_gives_back_as_it_was_sent_is_a_reply(
    reopen: Callable[..., open_graph],
) -> None:
    async with reopen(model=ParrotFakeChatModel()) as graph:
        state = await say(graph, "hello")
        assert [(message.type, message.text) for message in state["messages"]] == [("human", "hello"), ("ai", "hello")]
