"""Summaries in the graph: unruly models, large batches, odd conversations, every profile, nothing lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import chain, repeat
from typing import Any

import pytest
from chains import parted_calls
from conversation import EVERYTHING, EchoModel, say, thread, view_in
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from odd_conversations import conversations
from variants import EACH_PROFILE

from bench.compressed import below
from everthread import Settings, Summary, open_graph
from everthread.compression.chain import Batch
from everthread.compression.summarizer import Summarizer
from everthread.compression.writing import write_summary
from everthread.graph.conversation import CompiledConversation
from everthread.runtime.make_summary import shrink
from everthread.runtime.resources import Resources
from everthread.runtime.turn import Turn
from everthread.state.chain import Chain, ChainView, Link, SummaryMessage, is_summary, summary_link, summary_of
from everthread.storage.archive import Archive
from everthread.text.tokens import estimate_tokens

PROFILES = ["multi_strategy", "sliding_summary", "hybrid", "archive", "layered"]


class Writer(BaseChatModel):
    """A summary model whose replies are given, one call after the other; an exception is raised."""

    replies: list[Any]
    prompts: list[list[BaseMessage]] = []  # noqa: RUF012  # a pydantic field
    base_url: str = "https://api.example.org/v1"

    @property
    def _llm_type(self) -> str:
        return "writer"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        self.prompts.append(messages)
        reply = self.replies[min(len(self.prompts), len(self.replies)) - 1]
        if isinstance(reply, Exception):
            raise reply
        text = reply(messages) if callable(reply) else reply
        if isinstance(text, AIMessage):
            return ChatResult(generations=[ChatGeneration(message=text)])
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])


def writer(*replies: Any) -> Writer:
    return Writer(replies=list(replies), prompts=[])


TALK: list[AnyMessage] = [
    HumanMessage("I moved to Lisbon in May 2021 and work there as a nurse in the São José hospital.", id="1"),
    AIMessage("Lisbon is a fine city. How do you like the hospital?", id="2"),
    HumanMessage("I like it. My sister Clara lives in Porto and visits me every month by train.", id="3"),
]
BATCH = Batch(1, tuple(TALK))
GOOD = "The user moved to Lisbon in May 2021, works as a nurse at São José; sister Clara lives in Porto."


async def written(model: BaseChatModel, batch: Batch = BATCH, settings: Settings | None = None) -> Any:
    summarizer = Summarizer(model, {}, timeout=10)
    return await write_summary(batch, settings or Settings(), thread_id="t", summarizer=summarizer)


async def test_a_good_summary_is_taken_with_the_facts_of_the_same_call() -> None:
    model = writer(json.dumps({"summary": GOOD, "facts": [{"kind": "biography", "text": "works as a nurse"}]}))
    made = await written(model)
    assert (made.summary.content, made.summary.method, made.summary.model) == (GOOD, "model", "writer")
    assert (made.summary.covers, made.summary.rejected) == (3, None)
    assert [(fact.kind, fact.text) for fact in made.facts] == [("biography", "works as a nurse")]
    assert len(model.prompts) == 1
    assert "in the language it is written in" in model.prompts[0][0].text


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "it is empty"),
        ("word " * 20_000, "it is not shorter than its source"),
        ("In fields where flowers sway,\nThe sun is bright,\nThe birds all play,\nInto the night", "it is a story"),
        ('{"summary": "\x00\x07", "facts": []}', "it is empty"),
        ("I'm sorry, I cannot summarize private conversations.", "it is a refusal"),
        ("Der Benutzer zog um und arbeitet in der Krankenpflege.", "it shares"),
        ("Der Benutzer zog nach Lisbon und arbeitet im São José; Clara lebt in Porto.", "it is in another language"),
        ("Error generating summary: quota", "it is an error text"),
    ],
)
async def test_a_text_that_is_refused_twice_gives_the_extractive_summary_marked_as_such(
    reply: str, reason: str
) -> None:
    """Report langchain #38867: "Error generating summary" was stored as the summary, the history removed."""
    model = writer(reply)
    made = await written(model)
    assert len(model.prompts) == 2
    assert "was not accepted" in model.prompts[1][0].text
    assert made.summary.method == "extractive"
    assert made.summary.model is None
    assert made.summary.rejected.startswith(reason)
    assert "Lisbon" in made.summary.content


async def test_the_second_stricter_try_is_taken_where_it_is_good() -> None:
    made = await written(writer("Certainly! Here is a poem.", GOOD))
    assert (made.summary.content, made.summary.method, made.summary.rejected) == (GOOD, "model", None)


class Sampled(Writer):
    """A summary model that has a temperature and a limit of its replies, and notes what it was called with."""

    temperature: float | None = 1.0
    num_predict: int | None = None
    refuses: bool = False
    called: list[tuple[float | None, int | None]] = []  # noqa: RUF012  # a pydantic field

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        self.called.append((self.temperature, self.num_predict))
        if self.refuses and self.temperature == 0.1:
            raise ValueError("Unsupported value: 'temperature' does not support 0.1 with this model.")
        return super()._generate(messages)


async def test_the_summary_model_is_called_with_the_temperature_and_length_of_the_second_seed() -> None:
    model = Sampled(replies=[GOOD], prompts=[], called=[])
    await written(model)
    assert model.called == [(0.1, 1_000)]  # 300 for the summary, the rest for facts in the same reply
    assert (model.temperature, model.num_predict) == (1.0, None)
    local = Sampled(replies=[GOOD], prompts=[], called=[], base_url="http://localhost:11434", num_predict=4_000)
    await written(local, settings=Settings(summary_length=60))
    assert local.called == [(0.1, 100)]


async def test_a_model_that_refuses_a_temperature_is_called_without_and_not_asked_again() -> None:
    class Thinking(Sampled):
        model: str = "thinker-1"

    model = Thinking(replies=[GOOD], prompts=[], called=[], refuses=True)
    for _ in range(2):
        assert (await written(model)).summary.method == "model"
    assert [temperature for temperature, _ in model.called] == [0.1, 1.0, 1.0]


async def test_a_reply_that_was_cut_off_at_the_limit_is_asked_for_without_one() -> None:
    model = Sampled(
        replies=[AIMessage(GOOD[:50], response_metadata={"finish_reason": "length"}), GOOD], prompts=[], called=[]
    )
    assert (await written(model)).summary.content == GOOD
    assert [length for _, length in model.called] == [1_000, None]


CUT: dict[str, Any] = {"finish_reason": "length"}


@pytest.mark.parametrize(
    "reply", [AIMessage(GOOD[:60], response_metadata=CUT), '{"summary": "' + GOOD[:60], '```json\n{"summary": "The us']
)
async def test_a_summary_that_was_cut_off_is_not_taken(reply: Any) -> None:
    made = await written(writer(reply))
    assert (made.summary.method, made.summary.rejected) == ("extractive", "it was cut off before its end")


async def test_facts_that_were_cut_off_leave_the_summary_whole() -> None:
    reply = AIMessage(json.dumps({"summary": GOOD, "facts": []})[:-5], response_metadata=CUT)
    made = await written(writer(reply))
    assert (made.summary.content, made.summary.rejected) == (GOOD, None)


async def test_of_a_local_models_cut_reply_the_whole_sentences_are_taken() -> None:
    model = writer(AIMessage("The user moved to Lisbon. Clara lives in Por", response_metadata=CUT))
    model.base_url = "http://127.0.0.1:11434"
    made = await written(model)
    assert (made.summary.content, made.summary.rejected) == ("The user moved to Lisbon.", None)


async def test_of_a_local_models_two_sentences_the_first_is_taken_where_both_are_too_much() -> None:
    model = writer(
        AIMessage("The user moved to Lisbon. " + "Then they spoke of Clara, who lives in Porto, at length. " * 4)
    )
    model.base_url = "http://127.0.0.1:11434"
    made = await written(model)
    assert made.summary.rejected is None
    assert made.summary.content.startswith("The user moved to Lisbon. Then they spoke of Clara")
    assert len(made.summary.content) <= 300
    assert len(model.prompts) == 1


@pytest.mark.parametrize("profile", EACH_PROFILE)
async def test_a_summary_may_begin_as_the_one_before_it(
    settings: Settings, embeddings: Embeddings, reopen: Callable[..., open_graph], profile: str
) -> None:
    """A model that goes on with its last summary, or words each one alike, is no repetition."""
    opening = (
        "The user is a nurse from Lisbon who plans the garden with roses, tulips, oaks, apple trees, herbs, a pond, a "
        "shed and a greenhouse"
    )

    def going_on(messages: list[BaseMessage]) -> str:
        new = [word.strip(".:") for word in messages[-1].text.split() if word.startswith("item")]
        return (
            f"{opening}; needed: {', '.join(dict.fromkeys(new))[-300:]}." if "<excerpt" in messages[-1].text else "Yes."
        )

    model = writer(going_on)
    context = {
        "profile": profile,
        "message_threshold": 6,
        "keep_recent": 2,
        "summary_every_n": 2,
    }
    async with open_graph(settings.but(summary_model=None), model=model, embeddings=embeddings) as graph:
        for n in range(14):
            await say(
                graph, f"{opening}, and wants item{n}, for the winter and the spring of the year to come.", **context
            )
            await graph.asettled()
    summaries = await reopen().resources.of_user("ada").archive.summaries("t1")
    assert len(summaries) >= 2
    assert {summary.rejected for summary in summaries} == {None}


async def test_a_model_that_fails_gives_the_extractive_summary_marked_as_such() -> None:
    made = await written(writer(ConnectionError("down")))
    assert (made.summary.method, made.summary.rejected) == ("extractive", "the model failed (ConnectionError)")


async def test_a_local_model_gets_the_strict_prompt_and_no_json() -> None:
    """Seed 002, "Local Model Prompt"."""
    model = writer(GOOD)
    model.base_url = "http://127.0.0.1:11434"
    await written(model)
    assert model.prompts[0][0].text.startswith("TASK:")
    assert "JSON" not in model.prompts[0][0].text


async def test_a_batch_larger_than_the_window_is_summarized_in_parts_that_are_merged() -> None:
    """Reports langmem (the oldest was dropped silently), letta #3279."""

    def shorter(messages: list[BaseMessage]) -> str:
        words = messages[-1].text.split()
        return " ".join(word for word in words if word.startswith("place"))[:300]

    said = [HumanMessage(f"We went to place{n} and stayed for {n} days. " * 8, id=str(n)) for n in range(60)]
    model = writer(shorter)
    settings = Settings(max_context_tokens=1500, max_reply_tokens=100)
    made = await written(model, Batch(1, tuple(said)), settings)
    assert made.summary.method == "model"
    assert all(estimate_tokens(prompt[-1].text) <= 1500 for prompt in model.prompts)
    sent = " ".join(prompt[-1].text for prompt in model.prompts)
    assert all(f"place{n} " in sent for n in range(60))
    assert len(model.prompts) > 2


async def test_a_megabyte_in_one_message_is_summarized_in_a_few_calls() -> None:
    model = writer(lambda messages: " ".join(messages[-1].text.split()[2:25]))
    text = "The whale dives deep into the ocean and sings its song. " * 20_000
    made = await written(model, Batch(1, (HumanMessage(text, id="1"), AIMessage("I see.", id="2"))))
    assert "whale" in made.summary.content
    assert len(model.prompts) <= 20


async def test_a_local_conversation_is_summarized_on_this_machine_only() -> None:
    """Seed 002, "Session-Aware Model Selection": llama3.2 summarizes itself; a cloud model has its own summarizer."""
    local, cloud = EchoModel(prompts=[]), writer("x")
    object.__setattr__(local, "base_url", "http://localhost:11434")
    hybrid = Settings(profile="hybrid", summary_model="openai:gpt-4.1-mini")
    assert await Resources(hybrid, model=local).models.summarizer(hybrid) is local
    with pytest.raises(Exception, match=r"gpt-4\.1-mini"):
        await Resources(hybrid, model=cloud).models.summarizer(hybrid)
    ours = Settings(profile="hybrid", summary_model="extractive")
    assert await Resources(ours, model=local).models.summarizer(ours) is None


async def everything(archive: Archive, state: Any, to: str = "t1") -> tuple[set[str], set[str], list[Summary]]:
    """Ids in the archive, ids that the chain reaches, and the summaries."""
    summaries = await archive.summaries(to)
    archived = {message.id for message in await archive.messages(to)}
    return archived, below([str(message.id) for message in view_in(state)], summaries), summaries


@pytest.mark.parametrize(
    "reply", ["", ValueError("no"), "la la la\n" * 9, '{"summary": "\x01'], ids=["nothing", "raises", "poem", "cut off"]
)
@pytest.mark.usefixtures("eager")
async def test_an_unruly_summarizer_loses_nothing(
    settings: Settings, embeddings: Embeddings, reopen: Callable[..., open_graph], reply: Any
) -> None:
    model = writer(reply)
    async with open_graph(settings.but(summary_model=None), model=model, embeddings=embeddings) as graph:
        for n in range(5):
            await graph.aupdate_state(
                thread(),
                {"messages": [("user", f"I like the town number {n}."), ("assistant", f"Number {n} is fine.")]},
                as_node="llm_call",
            )
            state = await graph.ainvoke(None, thread(), context={"user_id": "ada"}, output_keys=EVERYTHING)
            await graph.asettled()
    archived, reached, summaries = await everything(reopen().resources.of_user("ada").archive, state)
    assert len(archived) == 10
    assert archived <= reached
    assert summaries
    assert all(summary.method == "extractive" and summary.rejected for summary in summaries)


@pytest.mark.usefixtures("eager")
async def test_under_archive_a_failing_model_leaves_the_messages_active_and_is_tried_again(
    settings: Settings, embeddings: Embeddings, reopen: Callable[..., open_graph]
) -> None:
    """Seed 003, "Summarization Failures": not archived, the counter is not reset, the user is told, tried again."""
    replies: list[Any] = [ConnectionError("quota")] * 2 + [lambda messages: messages[-1].text.split("\n")[1]]
    model = Writer(replies=replies, prompts=[])
    archive = reopen().resources.of_user("ada").archive
    values = settings.but(summary_model=None, profile="archive", summary_every_n=2)
    async with open_graph(values, model=model, embeddings=embeddings) as graph:
        for n in range(4):
            said = [("user", f"Question {n} about trains?"), ("assistant", f"Answer {n} about trains.")]
            await graph.aupdate_state(thread(), {"messages": said}, as_node="llm_call")
            state = await graph.ainvoke(None, thread(), context={"user_id": "ada"}, output_keys=EVERYTHING)
            await graph.asettled()
            active = [message.active for message in await archive.messages("t1")]
            if n in (1, 2):
                assert all(active)
            if n in (2, 3):  # of what is written beside the turns the next one tells
                assert "failed: quota" in state["after_reply"].error
                assert "the next turn tries again" in state["after_reply"].error
    assert not any(active)
    summaries = await archive.summaries("t1")
    assert [(summary.covers, summary.level) for summary in summaries] == [(4, 1), (4, 1)]
    assert {message.chunk_id for message in await archive.messages("t1")} == {1, 2}


IMAGE = [{"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}]


@pytest.mark.parametrize(
    ("asked", "answered"), [("ok", "ok"), (IMAGE, "A cat."), ("hi", "...")], ids=["one word", "images", "no words"]
)
async def test_odd_conversations_are_summarized_and_answered(
    settings: Settings, embeddings: Embeddings, asked: Any, answered: str
) -> None:
    async with open_graph(settings, model=writer(answered), embeddings=embeddings) as graph:
        for _ in range(8):
            state = await say(graph, {"messages": [HumanMessage(asked)]})
            assert state["after_reply"].error is None
    assert len(view_in(state)) <= 12
    assert any(is_summary(message) for message in view_in(state))


async def test_a_batch_with_a_message_that_the_chain_shed_is_summarized_from_the_whole(
    settings: Settings, embeddings: Embeddings
) -> None:
    """Head and end of a long text stay in the chain; its summary is made from all of it."""
    model = writer(lambda messages: "A zebra" if "zebra" in messages[-1].text else "Nothing of note")
    async with open_graph(settings.but(summary_window="oldest"), model=model, embeddings=embeddings) as graph:
        await say(graph, "plain words " * 750 + "the zebra escaped " + "plain words " * 750)
        for _ in range(3):
            state = await say(graph, "and now?")
    texts = [message.text for message in view_in(state) if is_summary(message)]
    assert texts
    assert "zebra" in texts[0]


async def test_six_turns_of_a_question_and_an_answer_are_the_figure_of_the_first_seed(
    settings: Settings, embeddings: Embeddings, echo: EchoModel
) -> None:
    """Seed 000: M1 M2 M3 and one level-2 summary of three summaries of three messages each."""
    async with open_graph(settings, model=echo, embeddings=embeddings) as graph:
        shapes = []
        for turn in range(1, 7):
            state = await say(graph, f"What of subject {turn}?")
            shapes.append([summary_of(m).level if is_summary(m) else 0 for m in view_in(state)])
        said = [str(message.id) for message in state["messages"]]
        top = summary_of(view_in(state)[-1])
        lower = {s.id: s for s in await graph.resources.of_user("ada").archive.summaries("t1")}
    assert shapes == [[0] * 2, [0] * 4, [0, 0, 0, 1], [0, 0, 0, 1, 0, 0], [0, 0, 0, 1, 1, 0], [0, 0, 0, 2]]
    assert [lower[id_].source_ids for id_ in top.source_ids] == [tuple(said[n : n + 3]) for n in (3, 6, 9)]


@pytest.mark.usefixtures("eager")
async def test_the_report_says_how_far_summaries_agree_with_messages_and_levels_with_each_other(
    settings: Settings, embeddings: Embeddings
) -> None:
    """Seed 000, coherence: the share of a summary's words that its sources have."""
    said = chain(
        ["Subject trains and unheard words besides", "Subject of trains", "More of trains"], repeat("Trains lot")
    )
    model = writer(lambda messages: next(said) if "<excerpt" in messages[-1].text else "Trains are the subject.")
    async with open_graph(settings.but(summary_model=None), model=model, embeddings=embeddings) as graph:
        found = []
        for _ in range(9):
            state = await say(graph, "Tell me more of the subject of trains, of which there is a lot to be told.")
            await graph.asettled()
            found += state["after_reply"].coherence
    assert [made.level for made in found][:3] == [1, 1, 1]
    assert 2 in {made.level for made in found}
    assert 0.25 < found[0].score < 0.8
    assert [made.score for made in found[1:3]] == [1.0, 1.0]
    assert all(made.method == "model" for made in found[:3])


@pytest.mark.usefixtures("eager")
async def test_a_summary_that_tells_of_the_user_otherwise_than_what_is_known_is_not_taken(
    settings: Settings, embeddings: Embeddings
) -> None:
    """Seed 004, consistency of facts and summaries; that somebody moves is no contradiction."""
    replies = [
        lambda messages: (
            "The user lives in Bergen and spoke of plain subjects and some more of them."
            if "<excerpt" in messages[-1].text
            else "Some more plain subjects, and some more of them."
        )
    ]
    async with open_graph(settings.but(summary_model=None), model=writer(*replies), embeddings=embeddings) as graph:
        await say(graph, "I live in Oslo.", to="known")
        await graph.resources.background.settled()
        for _ in range(3):
            await say(graph, "I spoke of plain subjects and some more of them.")
        await graph.asettled()
        (made,) = await graph.resources.of_user("ada").archive.summaries("t1")
        for text in ("Hello.", "Good.", "I have moved and I live in Bergen, and spoke of plain subjects, and more."):
            await say(graph, text, to="moved")
        await graph.asettled()
        (moved,) = await graph.resources.of_user("ada").archive.summaries("moved")
    assert (made.method, made.rejected) == ("extractive", "it tells of the user otherwise than what is known: home")
    assert "Bergen" not in made.content
    assert (moved.method, moved.rejected) == ("model", None)


async def test_layered_keeps_the_same_words_once(
    settings: Settings, embeddings: Embeddings, reopen: Callable[..., open_graph]
) -> None:
    async with open_graph(settings.but(profile="layered"), model=writer("ok"), embeddings=embeddings) as graph:
        for _ in range(16):
            state = await say(graph, "ok")
    standing = [summary_of(message) for message in view_in(state) if is_summary(message)]
    assert len({summary.content for summary in standing}) == len(standing)
    archived, reached, _ = await everything(reopen().resources.of_user("ada").archive, state)
    assert archived <= reached


async def test_a_profile_may_change_from_turn_to_turn(
    graph: CompiledConversation, reopen: Callable[..., open_graph]
) -> None:
    thresholds = {"n_sum": 4, "message_threshold": 4, "keep_recent": 2, "summary_every_n": 2}
    for n in range(25):
        state = await say(graph, f"Remark {n} about the garden.", profile=PROFILES[n % 5], **thresholds)
        assert state["after_reply"].error is None
    archived, reached, _ = await everything(reopen().resources.of_user("ada").archive, state)
    assert len(archived) == 50
    assert archived <= reached


@pytest.mark.parametrize("profile", EACH_PROFILE)
async def test_odd_conversations_go_through_the_graph_with_nothing_lost_and_no_invalid_prompt(
    graph: CompiledConversation, reopen: Callable[..., open_graph], echo: EchoModel, profile: str
) -> None:
    context = {"user_id": "ada", "profile": profile}
    archive = reopen().resources.of_user("ada").archive
    for id_, messages in conversations():
        if id_ not in {"parallel tools", "chinese"}:
            continue
        for exchange in _exchanges(messages):
            await graph.aupdate_state(thread(id_), {"messages": exchange}, as_node="llm_call")
            state = await graph.ainvoke(None, thread(id_), context=context, output_keys=EVERYTHING)
            assert state["after_reply"].error is None
        state = await say(graph, "What did we talk about?", to=id_, profile=profile)
        prompt = echo.prompts[-1]
        assert [message.type for message in prompt].count("system") == 1
        assert prompt[0].type == "system"
        assert parted_calls(prompt) == []
        archived, reached, _ = await everything(archive, state, id_)
        assert archived <= reached
        assert len(archived) >= len(messages)


def _exchanges(messages: Sequence[AnyMessage]) -> list[list[AnyMessage]]:
    """The messages in turns: each begins with the user's."""
    turns: list[list[AnyMessage]] = [[]]
    for message in messages:
        if isinstance(message, HumanMessage) and turns[-1]:
            turns.append([])
        turns[-1].append(message)
    return turns


@pytest.mark.parametrize(
    ("profile", "most"),
    [("multi_strategy", (150, 300, 450)), ("layered", (200, 400, 600)), ("archive", (200, 200, 200))],
)
async def test_a_summary_of_many_messages_is_longer_but_where_the_seed_bounds_all_of_them(
    profile: Any, most: tuple[int, ...]
) -> None:
    """Seed 003 has 2,000 tokens for ten summaries."""
    told = [" ".join(f"House {n}{at} is of {n}{at} stone, {n}{at} wood." for at in range(99)) for n in "wd"]
    sizes: list[int] = []
    for limit, covers in zip(most, (40, 60, 200), strict=True):
        sources = tuple(
            SummaryMessage.of(Summary(id=f"s{n}", content=text, level=1, source_ids=(f"m{n}",), covers=covers // 2))
            for n, text in enumerate(told)
        )
        made = await write_summary(Batch(2, sources), Settings(profile=profile), thread_id="t", summarizer=None)
        sizes.append(made.summary.tokens)
        assert limit // 2 < sizes[-1] <= limit
    assert (sizes[0] < sizes[1] < sizes[2]) == (most[0] < most[1])


async def test_where_the_model_fails_a_summary_of_summaries_is_as_long_as_one_made_without_a_model() -> None:
    told = [" ".join(f"House {n}{at} is of {n}{at} stone, {n}{at} wood." for at in range(99)) for n in "wd"]
    sources = tuple(
        SummaryMessage.of(Summary(id=f"s{n}", content=text, level=1, source_ids=(f"m{n}",), covers=100))
        for n, text in enumerate(told)
    )
    batch = Batch(2, sources)
    made = await written(writer("", ""), batch)
    without = await write_summary(batch, Settings(), thread_id="t", summarizer=None)
    assert made.summary.rejected is not None
    assert made.summary.content == without.summary.content


async def test_a_summary_that_says_the_same_as_its_own_source_counts_each_message_once(settings: Settings) -> None:
    text = "The user lives in Porto with a dog called Rex and works as a nurse in the old hospital."
    long, medium = (
        Summary(id=id_, content=text, level=level, source_ids=(f"m{level}",), covers=covers)
        for id_, level, covers in (("long", 2, 40), ("medium", 1, 8))
    )
    view = ChainView([SummaryMessage.of(long), SummaryMessage.of(medium), HumanMessage("And now?", id="q")])
    links = [summary_link(long), summary_link(medium), Link(id="q")]
    chain = Chain(links=links, known={}, last=None)
    layered = settings.but(profile="layered")
    resources = Resources(layered)
    try:
        batch = Batch(2, tuple(view[:2]))
        chain, written = await shrink(chain, view, batch, layered, Turn(resources, layered, thread()))
    finally:
        await resources.close()
    assert written.summary.content == text
    assert written.summary.source_ids == ("long", "medium")
    assert written.summary.covers == 48
    assert [link["id"] for link in chain["links"]] == [written.summary.id, "q"]
