"""Recall: words and meaning, neighbours, dates, names, any script, any question; and what happens without one arm."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conversation import EchoModel, FailingEmbeddings, open_with, say
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from everthread import Recall, Settings, Summary, open_graph
from everthread.graph.conversation import CompiledConversation
from everthread.memory.breadth import BELOW, CROWD, LATER, LEAST, LEAST_FOR_REMARK, relevances
from everthread.memory.fusion import lexical
from everthread.memory.pairing import paired
from everthread.memory.timeline import Timeline
from everthread.models.offline import OfflineChatModel
from everthread.nodes.memory_retrieval import memory_retrieval
from everthread.nodes.pairing import pairing
from everthread.runtime.resources import Resources
from everthread.runtime.turn import Turn
from everthread.state.records import Fragment, Hit
from everthread.text.dates import tells_when
from everthread.text.related import related_terms
from everthread.text.terms import MAX_CHARACTERS, search_terms, search_words, terms


@pytest.fixture
def embeddings(real_embeddings: Embeddings) -> Embeddings:
    """These tests are about meaning."""
    return real_embeddings


MONDAY = datetime(2024, 3, 4, 10, tzinfo=UTC)


def said(text: str, index: int, *, name: str | None = None, at: datetime | None = None) -> AnyMessage:
    moment = (at or MONDAY) + timedelta(minutes=index)
    kind = HumanMessage if index % 2 == 0 else AIMessage
    return kind(text, id=f"m{index}", name=name, additional_kwargs={"created_at": moment.isoformat()})


@pytest.fixture
async def resources(settings: Settings, embeddings: Embeddings) -> AsyncIterator[Resources]:
    made = Resources(settings, embeddings=embeddings)
    yield made
    await made.close()


async def find(resources: Resources, question: str, *, user: str = "ada", limit: int = 5, **more: Any) -> Recall:
    return await resources.of_user(user).search.find("now", question, limit=limit, threshold=0.7, timeout=60, **more)


async def texts(resources: Resources, recall: Recall, user: str = "ada") -> list[str]:
    archived = {m.id: m.text for thread in ("t1", "t2") for m in await resources.of_user(user).archive.messages(thread)}
    return [archived[hit.source_id] for hit in recall.hits]


CHAT = [
    "The heating in the old flat was broken all winter.", "That sounds cold.",
    "My locker at the gym has the number QX-4471.", "Noted.",
    "We saw the whales near Húsavík.", "How wonderful!",
    "Our neighbour plays the accordion every evening.", "Every evening?",
]  # fmt: skip


async def test_a_rare_word_is_found_whatever_its_meaning(resources: Resources) -> None:
    await resources.of_user("ada").archive.add_messages("t1", [said(text, n) for n, text in enumerate(CHAT)])
    recall = await find(resources, "qx-4471?")
    assert (await texts(resources, recall))[0] == CHAT[2]
    assert recall.hits[0].keyword_rank == 1


async def test_meaning_is_found_without_a_common_word(resources: Resources) -> None:
    await resources.of_user("ada").archive.add_messages("t1", [said(text, n) for n, text in enumerate(CHAT)])
    recall = await find(resources, "Which musical instrument disturbs me at night?")
    hit = recall.hits[0]
    assert (await texts(resources, recall))[0] == CHAT[6]
    assert hit.vector_rank == 1
    assert hit.similarity is not None
    assert hit.similarity >= 0.7


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("我的狗叫饼干，它很怕打雷。", "饼干怕什么？"),
        ("私の犬の名前はビスケットです。", "ビスケットは何ですか"),
        ("คุณยายของฉันอยู่เชียงใหม่", "เชียงใหม่"),
        ("كلبي اسمه بسكويت", "ما هو بسكويت؟"),
        ("Köpeğimin adı Bisküvi", "Bisküvi kim?"),
        ("def parse_header(raw): return raw.split(b'\\r\\n')", "parse_header"),
    ],
)
async def test_every_script_and_code_is_found_by_its_words(resources: Resources, text: str, question: str) -> None:
    await resources.of_user("ada").archive.add_messages(
        "t1", [said(t, n) for n, t in enumerate([*CHAT[:4], text, "ok"])]
    )
    recall = await find(resources, question)
    assert (await texts(resources, recall))[0] == text
    assert recall.hits[0].keyword_rank == 1


async def test_what_says_a_related_word_comes_before_what_does_not(resources: Resources) -> None:
    talk = [
        *CHAT,
        "The neighbour has a garden and two old cars.",
        "Nice.",
        "The neighbour has a puppy and two kittens.",
    ]
    await resources.of_user("ada").archive.add_messages("t1", [said(text, n) for n, text in enumerate(talk)])
    recall = await find(resources, "Does the neighbour keep pets?")
    assert [talk[int(hit.source_id[1:])] for hit in recall.hits if hit.keyword_rank == 1] == [talk[-1]]


def test_the_stems_of_one_word_stand_for_one_thing_and_question_words_for_none() -> None:
    assert search_words("Was hat es gekostet?") == [("gekost", "gekostet")]
    for question in (
        "Wohin fahren wir und wer kommt mit?", "Où et pourquoi avons-nous mangé ?", "¿Cuándo y dónde comimos?",
        "Waarom en wanneer hebben wij gegeten?", "Почему и откуда мы приехали?", "لماذا وأين أكلنا اليوم؟",
    ):  # fmt: skip
        stems = {stem for found in search_words(question) for stem in found}
        assert stems.isdisjoint(
            ["wohin", "wer", "ou", "pourquoi", "cuando", "donde", "waarom", "wanneer", "почему", "откуда", "لماذا"]
        )


def test_the_words_of_a_question_in_english_have_related_ones_but_names_have_none() -> None:
    assert {"dog", "cat"} <= {*related_terms("Any pets?", ["pet"])[0]}
    for question, word, other in (
        ("Who drives a lorry?", "lorri", "truck"), ("What did the telly cost?", "telli", "televis"),
        ("Who is my workmate?", "workmat", "colleagu"), ("How is the flat?", "flat", "apart"),
    ):  # fmt: skip
        assert other in related_terms(question, [word])[0]
    assert related_terms("Is it May?", ["may"]) == related_terms("Hast du ein Haustier?", ["pet"]) == [{}]
    assert related_terms("", []) == []
    assert not any(related_terms("pets " * 50, ["pet"] * 50))


async def test_what_was_said_around_a_word_is_found_with_it(resources: Resources) -> None:
    """DESIGN section 4: the answer often stands beside the message that holds the words of the question."""
    talk = ["Do you remember Krzysztof?", "Of course.", "He moved to the lighthouse.", "Really?"]
    await resources.of_user("ada").archive.add_messages("t1", [said(t, n) for n, t in enumerate([*CHAT, *talk])])
    assert talk[2] in await texts(resources, await find(resources, "Where did Krzysztof go?"))


async def test_a_date_in_the_question_finds_what_was_said_on_that_day(resources: Resources) -> None:
    birds = ["a heron", "a crow", "a finch", "a swan", "an owl", "a stork", "a gull", "a wren", "a duck", "a hawk"]
    days = [said(f"Saw {bird} in the park.", 2 * n, at=MONDAY + timedelta(days=n)) for n, bird in enumerate(birds)]
    await resources.of_user("ada").archive.add_messages("t1", days)
    recall = await find(resources, "What did I see on 9 March 2024?", limit=1)
    assert await texts(resources, recall) == ["Saw a stork in the park."]


async def test_a_question_that_asks_when_prefers_what_tells_a_time(resources: Resources) -> None:
    chat = [
        "Tom and I repaired the old boat together.", "Nice.",
        "Tom and I repaired the old boat in June.", "Nice.",
        "Tom and I repaired the old boat with glue.", "Nice.",
    ]  # fmt: skip
    await resources.of_user("ada").archive.add_messages("t1", [said(text, 20 * n) for n, text in enumerate(chat)])
    for question in ("When did Tom and I repair the old boat?", "Wann haben Tom und ich das old boat repariert?"):
        assert (await texts(resources, await find(resources, question)))[0] == chat[2]


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("We met last week.", True), ("Das war im März 2019.", True), ("我们昨天见面了", True), ("3月に会った", True),
        ("Il y a deux ans.", True), ("See you tomorrow!", True), ("Room 20194 is on floor 7.", False),
        ("The marching band plays.", False), ("", False),
    ],
)  # fmt: skip
def test_what_tells_a_time(text: str, tells: bool) -> None:
    assert tells_when(text) is tells


async def test_few_words_beside_the_answer_do_not_outrank_it(resources: Resources) -> None:
    chat = ["Which gift did you get for the wedding?", "Wow!", "We got them a hand-painted vase from Delft.", "Cool!"]
    messages = [said(text, n, name=("Ann", "Bob")[n % 2]) for n, text in enumerate(chat)]
    await resources.of_user("ada").archive.add_messages("t1", messages)
    found = await texts(resources, await find(resources, "What gift was it for the wedding?"))
    assert set(found[:2]) == {chat[0], chat[2]}


async def test_a_name_in_the_question_prefers_what_that_person_said(resources: Resources) -> None:
    talk = [said(f"I like painting sunsets, number {n}.", n, name="Ann" if n % 2 else "Bo") for n in range(8)]
    await resources.of_user("ada").archive.add_messages("t1", talk)
    recall = await find(resources, "What does Ann like painting?", limit=3)
    assert all("number" in text and int(text[-2]) % 2 for text in await texts(resources, recall))


async def test_what_somebody_else_said_is_not_told_of_who_is_asked_about(resources: Resources) -> None:
    talk = [
        ("ana", "I sold my old sailing boat on Sunday."), ("ben", "I prefer tea to coffee."),
        ("ana", "My sister studies law in Ghent."), ("ben", "I repaired the roof of the barn."),
        ("ana", "Ben hung his new hammock between the two pear trees."),
    ]  # fmt: skip
    messages = [said(text, 2 * n, name=name) for n, (name, text) in enumerate(talk)]
    await resources.of_user("ada").archive.add_messages("t1", messages)

    async def told(question: str) -> set[str]:
        recall = await find(resources, question, least=LEAST["one"])
        return {hit.source_id for hit in recall.hits if hit.relevance >= recall.least}

    assert "m0" in await told("When did Ana sell her sailing boat?")
    assert await told("When did Ben sell his sailing boat?") == set()
    assert "m0" in await told("When was the sailing boat sold?")
    assert "m8" in await told("Where did Ben hang his hammock?"), "somebody else tells it of him"


async def test_of_each_name_in_a_question_something_is_told(resources: Resources) -> None:
    tools = [
        "Kubernetes runs our services in Dublin.", "Redis keeps the sessions, and nobody else may write there.",
        "Biome checks the style of what we write.", "Grafana shows the load of each night and each day of the month.",
    ]  # fmt: skip
    await resources.of_user("ada").archive.add_messages("t1", [said(text, 2 * n) for n, text in enumerate(tools)])
    question = "What may write to Redis, does Kubernetes run, and who looks at Grafana and at Biome?"
    recall = await find(resources, question, least=LEAST["one"])
    told = [hit for hit in recall.hits if hit.relevance >= recall.least]
    assert {hit.source_id for hit in told} == {"m0", "m2", "m4", "m6"}
    remark = await find(resources, question, least=LEAST_FOR_REMARK)
    assert len([hit for hit in remark.hits if hit.relevance >= remark.least]) < len(tools)


async def test_a_clear_answer_stands_alone_a_remark_brings_nothing_and_what_much_bears_on_brings_much(
    resources: Resources,
) -> None:
    walks = [said(f"My walk number {n} led along the canal.", 2 * n, at=MONDAY + timedelta(days=n)) for n in range(30)]
    await resources.of_user("ada").archive.add_messages("t1", [*walks, said("My locker has the number QX-4471.", 80)])

    async def memories(question: str) -> list[str]:
        turn = Turn(resources, resources.settings.but(user_id="ada"), {"configurable": {"thread_id": "now"}})
        state: Any = {"messages": [HumanMessage(question, id="q")]}
        state |= await memory_retrieval(state, turn)
        state |= await pairing(state, turn)
        return [fragment.content for memory in state["recall"].memories for fragment in memory.fragments]

    assert await memories("What was QX-4471?") == ["My locker has the number QX-4471."]
    assert await memories("We walked a little today. The weather was lovely. I am tired now.") == []
    assert len(await memories("Which walks led along the canal?")) > 20


async def test_a_question_that_was_asked_before_does_not_hide_its_answer(resources: Resources) -> None:
    question = "Which number does my locker at the gym have?"
    chat = [*CHAT, question, "You said QX-4471.", question, "QX-4471, still."]
    days = [said(text, n % 2, at=MONDAY + timedelta(days=4 * (n // 2))) for n, text in enumerate(chat)]
    messages = [message.model_copy(update={"id": f"m{n}"}) for n, message in enumerate(days)]
    await resources.of_user("ada").archive.add_messages("t1", messages)
    turn = Turn(resources, resources.settings.but(user_id="ada"), {"configurable": {"thread_id": "now"}})
    state: Any = {"messages": [HumanMessage(question, id="q")]}
    state |= await memory_retrieval(state, turn)
    state |= await pairing(state, turn)
    assert CHAT[2] in {fragment.content for memory in state["recall"].memories for fragment in memory.fragments}


LIFE = [
    "I planted gooseberries behind the shed in March.", "The cat knocked over the blue vase this morning.",
    "My sister's wedding was in a chapel in Ghent.", "I am rereading a novel on lighthouse keepers.",
    "The dentist pulled a wisdom tooth on Friday.", "Our team moved to the fourth floor at work.",
    "I bought a second-hand cello from a retired teacher.", "The train to Basel was two hours late again.",
    "Dad keeps eleven hens and a rooster named Otto.", "I burnt the lentils and we ordered pizza.",
    "The landlord wants to paint the stairwell green.", "My passport expires in November next year.",
]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("What does Dad keep?", "hens"),
        ("Which instrument did I get?", "cello"),
        ("Where did my sibling marry?", "Ghent"),
        ("Who won the regatta in Lisbon?", None),
        ("How much did the telescope cost?", None),
        ("The weather has been lovely all week, hasn't it been a nice spring so far.", None),
    ],
)
async def test_what_was_never_said_brings_nothing_and_what_was_said_in_other_words_comes(
    resources: Resources, asked: str, told: str | None
) -> None:
    said_apart = [said(text, 0, at=MONDAY + timedelta(days=3 * n)) for n, text in enumerate(LIFE)]
    for n, message in enumerate(said_apart):
        await resources.of_user("ada").archive.add_messages(f"t{n}", [message.model_copy(update={"id": f"m{n}"})])
    turn = Turn(resources, resources.settings.but(user_id="ada"), {"configurable": {"thread_id": "now"}})
    state: Any = {"messages": [HumanMessage(asked, id="q")]}
    state |= await memory_retrieval(state, turn)
    state |= await pairing(state, turn)
    texts = [fragment.content for memory in state["recall"].memories for fragment in memory.fragments]
    assert any(told in text for text in texts) if told else texts == []


async def test_a_summary_is_of_replies_too_and_an_order_of_events_is_spread_over_them(resources: Resources) -> None:
    events = ("sowed the tomatoes", "planted the tomatoes out", "harvested the tomatoes")
    talk = [
        f"{number} on the tomatoes: today I {event}." for event in events for number in ("First", "Second", "Third")
    ]
    reply = "The tomatoes need a warm place, much light, water in the evening, and a stick of a metre and a half."
    said_so = [said(text, 2 * n + 60 * (n // 3)) for n, text in enumerate(talk)]
    between = [said(f"The bus was late, remark {n}.", 20 + 60 * k + n) for k in range(3) for n in range(0, 24, 2)]
    messages = sorted([*said_so, *between], key=lambda message: message.additional_kwargs["created_at"])
    await resources.of_user("ada").archive.add_messages("t1", [*messages, AIMessage(reply, id="reply")])
    order = await texts(resources, await find(resources, "In what order did I care for the tomatoes?", limit=3))
    assert {event for event in events for text in order if event in text} == set(events)
    ranks = [
        next((hit.rank for hit in (await find(resources, question, limit=30)).hits if hit.source_id == "reply"), 31)
        for question in ("Summarize what was said on tomatoes.", "Tell what was said on tomatoes.")
    ]
    assert ranks[0] < ranks[1]


async def test_an_order_of_events_begins_with_what_opened_each(resources: Resources) -> None:
    talk = [
        "I want to plant a plum tree in the garden.", "Plum trees need sun and rich soil.",
        "Thanks, sun and rich soil for the plum tree in the garden it is.", "Good luck with the plum tree.",
    ]  # fmt: skip
    other = ["Today the garden got a pond with a pump.", "A pond needs a pump that is strong enough.",
             "Thanks, a pump that is strong enough for the garden pond.", "Enjoy the pond."]  # fmt: skip
    later = [said(text, n, at=MONDAY + timedelta(days=9)) for n, text in enumerate(other, start=4)]
    await resources.of_user("ada").archive.add_messages("t1", [said(t, n) for n, t in enumerate(talk)] + later)
    recall = await find(resources, "In what order did I bring up work in the garden?", limit=2)
    assert {hit.source_id for hit in recall.hits} == {"m0", "m4"}


async def test_of_what_came_first_each_side_is_told(resources: Resources) -> None:
    """The side that shares no word with its message, beside another of which much was said."""
    router = [f"The new router is set up in room {n}, and the signal of the router is fine." for n in range(12)]
    said_apart = [*LIFE[:4], *router, *LIFE[4:]]
    for n, text in enumerate(said_apart):
        await resources.of_user("ada").archive.add_messages(f"t{n}", [said(text, 2 * n, at=MONDAY + timedelta(n))])
    for question in (
        "Did I set up the router before or after I got a musical instrument?",
        "What did I do first, set up the router or get a musical instrument?",
    ):
        recall = await find(resources, question, least=LEAST["many"], limit=30)
        told = [said_apart[int(hit.source_id[1:]) // 2] for hit in recall.hits if hit.relevance >= recall.least]
        assert any("cello" in text for text in told), question
        assert any("router" in text for text in told[:3]), question


async def test_a_question_that_names_a_month_looks_there_whatever_its_language(resources: Resources) -> None:
    walks = [said("Walked along the canal again.", 2 * n, at=MONDAY + timedelta(days=30 * n)) for n in range(10)]
    await resources.of_user("ada").archive.add_messages("t1", walks)  # from March to November of 2024

    async def first(question: str) -> set[str]:
        recall = await find(resources, question, limit=3)
        return {hit.created_at.strftime("%m") for hit in recall.hits}

    for question in ("Walked where in June?", "Gelaufen am canal im Juni?", "canal 六月?", "canal в июне?"):
        assert "06" in await first(question), question
    assert await first("Did I walk along the canal between April and May?") >= {"04", "05"}
    assert await first("Did I walk along the canal before the end of April?") >= {"03", "04"}


async def test_all_that_was_said_is_told_by_what_people_said_most_in_each_part_of_it(resources: Resources) -> None:
    told = [f"Day {n}: we drew the plan of the house again, with bed {n} at wall {n}." for n in range(80)]
    chat = [text for line in told for text in (line, "Fine. " * 60, "Yes, ok.", "Good.")]
    messages: list[AnyMessage] = [said(text, n) for n, text in enumerate(chat)]
    call = {"name": "sensor", "args": {}, "id": "c"}
    for n in range(2, len(chat), 8):
        messages[n] = AIMessage("", id=f"m{n}", tool_calls=[call])
        log = " ".join(f"bed{k}" for k in range(200))
        messages[n + 1] = ToolMessage(log, id=f"m{n + 1}", tool_call_id="c")
    await resources.of_user("ada").archive.add_messages("t1", messages)
    question = "Summarize what we talked about so far."
    recall = await find(resources, question, least=LEAST["whole"], limit=40)
    days = sorted(told.index(text) for text in await texts(resources, recall))
    assert len(days) == 40
    assert all(later - sooner <= 3 for sooner, later in pairwise([0, *days, 79]))
    assert all(hit.relevance >= recall.least for hit in recall.hits)
    half = await find(resources, question, limit=40, as_of=MONDAY + timedelta(minutes=160))
    assert {told.index(text) < 41 for text in await texts(resources, half)} == {True}
    assert not (await find(resources, question, user="bob", limit=40)).hits


async def test_who_asks_in_a_conversation_what_was_talked_about_means_that_one(resources: Resources) -> None:
    chat = [f"We {verb} the garden." for verb in ("dug", "sowed", "watered", "weeded", "mowed", "raked")]
    await resources.of_user("ada").archive.add_messages("t1", [said(text, n) for n, text in enumerate(chat)])
    kites = [said(f"Kite {n} flew.", 20 + n) for n in range(6)]
    await resources.of_user("ada").archive.add_messages("now", kites[:4])

    async def threads() -> set[str]:
        return {hit.thread_id for hit in (await find(resources, "Summarize our conversation.", limit=40)).hits}

    assert await threads() == {"t1", "now"}  # which has but begun
    await resources.of_user("ada").archive.add_messages("now", kites[4:])
    assert await threads() == {"now"}
    before = await find(resources, "Summarize our conversation.", limit=40, as_of=MONDAY + timedelta(minutes=15))
    assert {hit.thread_id for hit in before.hits} == {"t1"}  # none of it was said by then


async def test_of_what_only_a_summary_is_left_that_is_found_for_the_whole(resources: Resources) -> None:
    user = resources.of_user("ada")
    left = Summary(id="left", content="We talked about the greenhouse.", level=1, source_ids=("gone",))
    await user.archive.add_summary("t1", left)
    await user.vectors.embed_pending(timeout=60)
    recall = await find(resources, "Summarize what we talked about so far.", limit=40)
    assert [hit.source_id for hit in recall.hits] == ["left"]


@given(st.lists(st.floats(-50, 50), max_size=300), st.floats(0.5, 12))
def test_relevance_is_shared_and_falls_with_the_score(scores: list[float], rarest: float) -> None:
    unknown = np.full(len(scores), np.nan)
    shares = relevances(np.array(scores), np.zeros(len(scores), dtype=bool), unknown, rarest).tolist()
    assert sum(sorted(shares)[-CROWD:]) <= 1.000001
    assert [share for _, share in sorted(zip(scores, shares, strict=True))] == sorted(shares)
    assert all(share == 0 or score >= max(scores) - BELOW * rarest for score, share in zip(scores, shares, strict=True))


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(0, 100)), min_size=1, max_size=300), st.floats(0.5, 12))
def test_what_people_said_later_than_the_answer_may_be_further_below_it(
    found: list[tuple[float, float]], rarest: float
) -> None:
    scores, times = np.array(found).T
    shares = relevances(scores, np.zeros(len(scores), dtype=bool), times, rarest)
    below, is_later = scores.max() - scores, times > times[scores.argmax()]
    assert not shares[below > LATER * rarest].any()
    assert not shares[~is_later & (below > BELOW * rarest)].any()
    assert shares[is_later & (below < min(LATER * rarest, 50))].all()


async def test_what_changed_the_answer_in_other_words_is_told_with_it(resources: Resources) -> None:
    chat = [
        "The quota for uploads is 60 files an hour for each customer to begin with.", "60 an hour for each customer.",
        "The load test of last night looked good, no errors at all.", "Good.",
        "Marketing wants a campaign in autumn, so let's go to 150 files an hour.", "150 then.",
        "The office is painted green now.", "A fresh colour.", "I went to Turku by train.", "How was the journey?",
    ]  # fmt: skip
    await resources.of_user("ada").archive.add_messages("t1", [said(text, n) for n, text in enumerate(chat)])
    walks = [said(f"Walk number {n} led along canal {n % 7}.", n) for n in range(0, 120, 2)]
    await resources.of_user("ada").archive.add_messages("t2", walks)
    turn = Turn(resources, resources.settings.but(user_id="ada"), {"configurable": {"thread_id": "now"}})
    state: Any = {"messages": [HumanMessage("What is the quota for uploads for each customer?", id="q")]}
    state |= await memory_retrieval(state, turn)
    state |= await pairing(state, turn)
    texts = [fragment.content for memory in state["recall"].memories for fragment in memory.fragments]
    assert {chat[0], chat[4]} <= {*texts}
    assert not {*texts} & {walk.text for walk in walks}


@pytest.mark.parametrize(
    "question",
    ["hello", "hi there, thanks!", "the of and", "& | ! ( ) : * `` '' \\", "😀", "?", "a" * 20_000, "word " * 4000,
     "What happened 100,000 years ago?", "'; DROP TABLE messages; --", "%", "_"],
)  # fmt: skip
async def test_any_question_is_answered_and_a_greeting_recalls_nothing(resources: Resources, question: str) -> None:
    await resources.of_user("ada").archive.add_messages(
        "t1", [said(text, n) for n, text in enumerate([*CHAT, "hello", "hi"])]
    )
    recall = await find(resources, question)
    assert recall.error is None
    assert len(recall.hits) <= 5
    if question.startswith(("hello", "hi", "the of")):
        assert not [hit for hit in recall.hits if hit.similarity is None or hit.similarity < 0.7]


async def test_one_small_user_among_a_thousand_gets_all_hits(resources: Resources) -> None:
    """Reports honcho #1048, hindsight #3541, pgvector #785: a filter after the index search lost rows."""
    users = [
        resources.of_user(f"u{n}").archive.add_messages(
            f"u{n}/t", [HumanMessage(f"The blue kayak number {n} is mine.", id="k")]
        )
        for n in range(1000)
    ]
    await asyncio.gather(*users)
    mine = [said(f"My blue kayak, remark {n}.", 2 * n) for n in range(5)]
    await resources.of_user("small").archive.add_messages("t1", mine)
    recall = await find(resources, "blue kayak", user="small", limit=50)
    assert {hit.source_id for hit in recall.hits} == {message.id for message in mine}


async def test_without_the_embedding_model_words_are_searched_and_the_turn_says_so(
    graph: CompiledConversation, reopen: Callable[..., open_graph]
) -> None:
    """Seed 000, error handling: embedding errors degrade to keyword matching."""

    for text in ["My locker has the number QX-4471.", "It rains.", "The bus is late.", "I am tired."]:
        await say(graph, text, to="one")
    async with reopen(embeddings=FailingEmbeddings(), model=EchoModel(prompts=[])) as failing:
        state = await say(failing, "What was QX-4471?", to="two")
    assert "QX-4471" in state["recall"].memories[0].fragments[0].content
    assert "no room for the model" in state["recall"].error
    assert "by keywords alone" in state["recall"].error


def test_terms_are_stemmed_folded_and_without_stop_words() -> None:
    assert terms("The Dog's dogs were running, WASN'T it?") == ["dog", "dog", "run", "wasn"]
    assert terms("饼干 and 饼") == ["饼干", "饼"]
    assert len(terms("x1 " * MAX_CHARACTERS)) <= MAX_CHARACTERS
    assert search_terms("Meine Schwestern wohnen in Wien") == ["schwest", "schwestern", "wohn", "wohnen", "wien"]
    assert search_terms("Schwester?") == ["schwest", "schwester"]
    assert search_terms("I sat in the Café") == search_terms("I sat in the CAFE") == ["sat", "cafe"]


def test_a_question_in_korean_or_japanese_asks_for_its_words_and_not_for_their_particles() -> None:
    def asked(question: str) -> list[str]:
        return [term for word in search_words(question) for term in word]

    assert asked("나는 어디에서 열쇠를 샀어?") == ["열쇠", "샀어"]
    assert asked("무엇을 찾았나, 비행기에서는?") == ["찾았", "비행", "행기"]
    assert asked("USB를 샀어?") == ["usb", "샀어"]
    assert asked("私の家賃はいくらですか。") == ["家賃"]
    assert asked("ペットは何を怖がりますか。") == ["ペッ", "ット", "怖が"]
    assert {"ねぎ", "値段"} <= {*asked("たまねぎの値段は?")}
    assert asked("我叫什么名字") == search_terms("我叫什么名字")
    assert asked("どこですか") == search_terms("どこですか")  # nothing else is left


@example("\u0300")
@given(st.text(max_size=300))
def test_terms_take_any_text(text: str) -> None:
    assert all(isinstance(term, str) and term for term in terms(text))
    assert {term for word in search_words(text) for term in word} <= {*search_terms(text)}


rows = st.lists(
    st.tuples(
        st.sampled_from("ab"), st.integers(0, 500), st.integers(0, 60), st.integers(0, 5), st.integers(0, 5)
    ),
    max_size=60,
)  # fmt: skip


@given(rows)
def test_the_score_of_words_is_finite_reaches_eight_messages_and_never_another_thread(
    drawn: list[tuple[str, int, int, int, int]],
) -> None:
    threads: dict[str, tuple[list[int], list[float], list[int]]] = {"a": ([], [], []), "b": ([], [], [])}
    held: list[tuple[str, int, int, int]] = []
    for thread, hours, length, x, y in drawn:
        seq = len(threads[thread][0]) + 1
        for column, value in zip(threads[thread], (seq, hours * 3600.0, max(length, x + y)), strict=True):
            column.append(value)
        if x or y:
            held.append((thread, seq, x, y))
    in_a = len(threads["a"][0])
    seqs, times, lengths = (np.array(one + other) for one, other in zip(threads["a"], threads["b"], strict=True))
    starts = np.array([0, in_a, len(seqs)])
    everywhere = Timeline.at_rest(list(threads), starts, seqs.astype(int), times.astype(float), lengths.astype(float))
    at = [seq - 1 + in_a * (thread == "b") for thread, seq, _, _ in held]
    counts = np.zeros((2, len(drawn)))
    for position, (_, _, x, y) in zip(at, held, strict=True):
        counts[:, position] = x, y
    scores = lexical(everywhere, counts, range(len(counts))).scores
    assert len(scores) == len(drawn)
    for number, score in enumerate(scores.tolist()):
        thread, seq = ("a", number + 1) if number < in_a else ("b", number - in_a + 1)
        assert 0 <= score < 100
        near = [other for other, index, *_ in held if other == thread and abs(index - seq) <= 8]
        assert near or score == 0
    assert (scores[at] > 0).all()


def hit(id_: str, rank: int) -> Hit:
    return Hit(source_type="message", source_id=id_, thread_id="t", role="user", rank=rank, created_at=MONDAY)


@given(st.lists(st.integers(0, 9), max_size=20))
def test_two_hits_in_one_exchange_make_one_memory_and_no_fragment_comes_twice(found: list[int]) -> None:
    exchanges = {
        ("t", str(n)): tuple(Fragment(id=str(k), role="user", content="x") for k in (n - n % 2, n - n % 2 + 1))
        for n in range(10)
    }
    hits = tuple(hit(str(n), rank) for rank, n in enumerate(found, start=1))
    memories = paired(hits, exchanges)
    ids = [fragment.id for memory in memories for fragment in memory.fragments]
    assert len(ids) == len(set(ids))
    assert {n - n % 2 for n in found} == {int(memory.fragments[0].id) for memory in memories}
    assert [memory.rank for memory in memories] == sorted(memory.rank for memory in memories)


@pytest.mark.parametrize("stored", ["postgres", "sqlite", "json"])
async def test_what_the_offline_model_said_is_not_recalled_nor_summarized(
    stored: str, settings: Settings, embeddings: Embeddings, tmp_path: Path
) -> None:
    settings = settings if stored == "postgres" else settings.but(database_url=stored, data_dir=tmp_path)
    settings = settings.but(summary_model="extractive", profile="multi_strategy")
    async with open_with(settings, model=OfflineChatModel(), embeddings=embeddings) as graph:
        for text in (
            "My dog is called Biscuit.",
            "What is my dog called?",
            *(f"Remark {n} on dogs." for n in range(8)),
        ):
            await say(graph, text)
        await graph.asettled()
        summaries = await graph.resources.of_user("ada").archive.summaries("t1")
        state = await say(graph, "What is my dog called? What language model are you?", to="t2")
        said = [message.text for message in await graph.ahistory("ada", "t1")]
    told = [fragment.content for memory in state["recall"].memories for fragment in memory.fragments]
    assert any("Biscuit" in text for text in told)
    assert not [text for text in [*told, *(s.content for s in summaries)] if "no model is configured" in text]
    assert summaries
    assert len([text for text in said if "no model is configured" in text]) == 10, "the archive keeps it as it was said"
    echo = EchoModel(prompts=[])
    async with open_with(settings, model=echo, embeddings=embeddings) as graph:
        for thread in ("t1", "t2", "t3"):  # what was said there and, in another, what summaries were made from
            await say(graph, "Remark on dogs: is a language model configured, or is no model configured?", to=thread)
    shown = [message.text for prompt in echo.prompts for message in prompt]
    assert any("Biscuit" in text for text in shown)
    assert not [text for text in shown if "not a language model" in text]
