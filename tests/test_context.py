"""The context through the public surface: what a user said is in the prompt, or can be recalled; the report says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from conversation import EchoModel, say, thread
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from variants import EACH_PROFILE

from everthread import examine, open_graph
from everthread.graph.conversation import CompiledConversation
from everthread.state.chain import ChainView
from everthread.state.errors import ModelError
from everthread.state.offload import offload
from everthread.text.tokens import count_message_tokens

PROFILES = ["multi_strategy", "sliding_summary", "hybrid", "archive", "layered"]
IMAGE: Any = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 2000}}


def told(echo: EchoModel) -> str:
    """The newest prompt as one text."""
    return "\n".join(message.text for message in echo.prompts[-1])


def pictures(echo: EchoModel) -> int:
    """Images in the newest prompt."""
    blocks = [block for message in echo.prompts[-1] if isinstance(message.content, list) for block in message.content]
    return sum(isinstance(block, dict) and block.get("type") == "image_url" for block in blocks)


@pytest.mark.parametrize("profile", EACH_PROFILE)
async def test_what_was_said_before_the_recent_messages_is_known_though_it_is_in_no_summary_yet(
    graph: CompiledConversation, echo: EchoModel, profile: str
) -> None:
    """Seeds 002 and 003 send the last eight messages, and summarize after fifteen or twenty."""
    await say(graph, "By the way, the door of the shed opens with 4711.", profile=profile)
    for question in ["How do bees find home?", "Tell me about Oslo.", "What is a monad?", "Why is the sky blue?",
                     "Who wrote Faust?"]:  # fmt: skip
        await say(graph, question, profile=profile)
    await say(graph, "Which number opens the door of the shed?", profile=profile)
    assert "4711" in told(echo)


async def test_what_the_budget_leaves_out_of_the_recent_messages_is_recalled(
    graph: CompiledConversation, echo: EchoModel
) -> None:
    values: dict[str, Any] = {"max_context_tokens": 1000, "max_reply_tokens": 200, "n_sum": 40, "message_threshold": 40}
    await say(graph, "By the way, the door of the shed opens with 4711.", **values)
    for n in range(9):
        await say(graph, f"Garden {n}: " + "roses, tulips and lilies in the green garden of the house " * 25, **values)
    state = await say(graph, "Which number opens the door of the shed?", **values)
    assert "did not fit the budget" in state["context_report"].left_out
    assert "4711" in told(echo)


@pytest.mark.parametrize("profile", EACH_PROFILE)
async def test_a_long_message_stays_whole_while_the_budget_has_room(
    graph: CompiledConversation, echo: EchoModel, profile: str
) -> None:
    """Seed 000, dynamic allocation: what other parts leave unused is for the recent messages."""
    await say(graph, "\n".join(f"Line {n}: the value of item {n} is {n * 7}." for n in range(110)), profile=profile)
    state = await say(graph, "Thank you.", profile=profile, max_memories=0)
    assert "item 55 is 385." in told(echo)
    assert state["context_report"].left_out == ""


async def test_of_a_long_message_that_is_cut_short_the_passage_asked_about_is_recalled(
    graph: CompiledConversation, echo: EchoModel
) -> None:
    lines = [f"Line {n}: roses, tulips and lilies grow in the garden of house {n}." for n in range(300)]
    lines[150] = "The gardener of the castle is called Bartholomew."
    await say(graph, "\n".join(lines), max_context_tokens=3000)
    state = await say(graph, "What is the gardener of the castle called?", max_context_tokens=3000)
    assert "recent: 1 cut short" in state["context_report"].left_out
    assert "Bartholomew" in told(echo)


async def test_an_image_is_still_seen_when_the_next_question_is_about_it(
    graph: CompiledConversation, echo: EchoModel
) -> None:
    await say(graph, {"messages": [HumanMessage([{"type": "text", "text": "What is this?"}, IMAGE])]})
    await say(graph, "And which colour has it?")
    assert pictures(echo) == 1


@pytest.mark.parametrize(("budget", "seen"), [(3000, 1), (8000, 4), (12_000, 5)])
async def test_of_many_images_those_stay_that_fit_and_the_report_says_what_was_cut(
    graph: CompiledConversation, echo: EchoModel, budget: int, seen: int
) -> None:
    question = [{"type": "text", "text": "Compare these."}, *[IMAGE] * 5]
    state = await say(graph, {"messages": [HumanMessage(question)]}, max_context_tokens=budget)
    assert pictures(echo) == seen
    assert told(echo).startswith("You are a helpful assistant")
    assert "Compare these." in told(echo)
    assert ("question: 1 cut short" in state["context_report"].left_out) == (seen < 5)
    assert count_message_tokens(echo.prompts[-1]) <= state["context_report"].budget


async def test_blank_texts_beside_calls_and_blank_results_are_never_sent(
    graph: CompiledConversation, echo: EchoModel
) -> None:
    """Anthropic refuses a blank text, Bedrock a blank result, OpenAI an empty list."""
    calls = [{"name": "look", "args": {}, "id": id_} for id_ in ("1", "2", "3")]
    said = [
        HumanMessage("Look."), AIMessage(" \n", tool_calls=calls), ToolMessage(" ", tool_call_id="1"),
        ToolMessage("", tool_call_id="2"), ToolMessage([{"type": "text", "text": ""}], tool_call_id="3"),
        AIMessage("Nothing there."),
    ]  # fmt: skip
    await graph.aupdate_state(thread(), {"messages": said}, as_node="llm_call")
    await say(graph, "Thank you.")
    _, _, asked, *results, _, _ = echo.prompts[-1]
    assert asked.content == ""
    assert [message.content for message in results] == ["[no output]"] * 3


async def test_a_name_that_a_provider_refuses_does_not_fail_the_thread(
    graph: CompiledConversation, echo: EchoModel
) -> None:
    """OpenAI takes no spaces and none of <|\\/> in a name."""
    await say(graph, {"messages": [HumanMessage("Hello.", name="José <García> | x")]})
    assert echo.prompts[-1][-1].name == "José_García_x"


async def test_instructions_alone_are_sent_with_a_message_of_the_user(
    graph: CompiledConversation, echo: EchoModel
) -> None:
    await say(graph, {"messages": [SystemMessage("Greet the user.")]})
    assert [message.type for message in echo.prompts[-1]] == ["system", "human"]
    assert echo.prompts[-1][0].text.endswith("Greet the user.")


@pytest.mark.parametrize("profile", EACH_PROFILE)
async def test_instructions_that_are_sent_with_every_message_stand_once_in_prompt_and_chain(
    graph: CompiledConversation, echo: EchoModel, profile: str
) -> None:
    """Clients of chat APIs send their system message again with each question; the conversation shows what was sent."""
    for n in range(6):
        pirate = [SystemMessage("You are a pirate."), HumanMessage(f"Ahoy {n}!")]
        state = await say(graph, {"messages": pirate}, profile=profile)
    assert echo.prompts[-1][0].text.count("You are a pirate.") == 1
    instructions = [message.id for message in state["messages"] if message.text == "You are a pirate."]
    links = (await graph.aget_state(thread())).values["chain"]["links"]
    assert [link["id"] for link in links if link["id"] in instructions] == instructions[-1:]
    (checkup,) = await examine(graph, "ada", "t1")
    assert checkup.findings == ()


async def test_of_instructions_that_are_too_long_the_newest_stay(graph: CompiledConversation, echo: EchoModel) -> None:
    long = SystemMessage("Be polite, be brief, be kind to all. " * 400)
    await say(graph, {"messages": [long, HumanMessage("Hello.")]}, max_context_tokens=3000)
    newest = [SystemMessage("Answer in French."), HumanMessage("Who are you?")]
    state = await say(graph, {"messages": newest}, max_context_tokens=3000)
    assert echo.prompts[-1][0].text.startswith("You are a helpful assistant")
    assert echo.prompts[-1][0].text.endswith("Answer in French.")
    assert "system: 1 cut short" in state["context_report"].left_out


@pytest.mark.parametrize("base", EACH_PROFILE)
async def test_a_thread_goes_on_under_another_profile_and_a_much_smaller_budget(
    reopen: Callable[..., open_graph], base: str
) -> None:
    model = EchoModel(prompts=[])
    async with reopen(model=model, profile=base) as graph:
        for n in range(3):
            await say(graph, f"Garden {n}: " + "roses, tulips and lilies " * 150)
        for profile in PROFILES:
            state = await say(graph, "And now?", profile=profile)
            assert state["context_report"].budget == {"hybrid": 3000, "archive": 8000}.get(profile, 6976)
            state = await say(graph, "And now?", profile=profile, max_context_tokens=1000, max_reply_tokens=100)
            assert count_message_tokens(model.prompts[-1]) <= state["context_report"].budget <= 1000
            assert model.prompts[-1][-1].text.endswith("And now?")


async def test_an_image_and_the_question_about_it_may_come_as_two_messages(
    graph: CompiledConversation, echo: EchoModel
) -> None:
    await say(graph, "Hello.")
    await say(graph, {"messages": [HumanMessage([IMAGE]), HumanMessage("What is this?")]})
    assert pictures(echo) == 1


async def test_images_of_a_turn_that_failed_are_not_sent_again_however_many_messages_it_had(
    reopen: Callable[..., open_graph],
) -> None:
    class Blind(EchoModel):
        def _generate(self, messages: list[Any], *args: Any, **more: Any) -> Any:
            if any(not isinstance(message.content, str) for message in messages):
                raise ValueError("this model takes no images")
            return super()._generate(messages, *args, **more)

    async with reopen(model=Blind(prompts=[])) as graph:
        for _ in range(2):
            with pytest.raises(ModelError, match="takes no images"):
                await say(graph, {"messages": [HumanMessage([IMAGE]), HumanMessage("What is this?")]})
        state = await say(graph, "Then in words: what is the capital of Peru?")
    assert state["messages"][-1].text.endswith("what is the capital of Peru?")


async def test_what_is_heavy_is_told_in_short_after_two_turns_and_kept_whole(
    graph: CompiledConversation, echo: EchoModel, reopen: Callable[..., open_graph]
) -> None:
    image: Any = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 20_000}}
    said = [{"type": "text", "text": "What is this?"}, image]
    values: dict[str, Any] = {"max_context_tokens": 100_000, "n_sum": 40}
    await say(graph, {"messages": [HumanMessage(said)]}, **values)
    await say(graph, "And which colour has it?", **values)
    assert pictures(echo) == 1
    state = await say(graph, "Thank you.", **values)
    assert pictures(echo) == 0
    assert "[image, 20" in told(echo)
    assert "bytes, is in the archive]" in told(echo)
    assert state["messages"][0].content == said
    assert (await reopen().resources.of_user("ada").archive.messages("t1"))[0].message.content == said


def test_head_and_end_of_a_long_text_stay_and_the_light_ones_are_named() -> None:
    long = "START " + "word " * 10_000 + "END"
    whole = [HumanMessage(long, id="a"), ToolMessage(long, id="b", tool_call_id="x", artifact="A" * 20_000)]
    newest = [HumanMessage("One.", id="c"), HumanMessage(long, id="d")]
    view, light = offload(ChainView([*whole, *newest], kept={"a"}))
    assert light == {"a", "b"}
    assert view.is_kept(view[0])
    assert [message.text.startswith("START") and message.text.endswith("END") for message in view[:2]] == [True, True]
    assert max(len(message.text) for message in view[:2]) < 9_000
    assert getattr(view[1], "artifact", None) is None
    assert list(view[2:]) == newest
    assert [message.text for message in whole] == [long, long]
    again, nothing = offload(view)
    assert (list(again), nothing) == (list(view), frozenset())
