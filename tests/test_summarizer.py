"""Safety of history: which summaries are taken, and what happens where a model's cannot be (seed 002, validation)."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from conversation import EchoModel
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from everthread import ModelError, Settings
from everthread.compression.acceptance import vocabulary_share, why_rejected
from everthread.compression.chain import Batch
from everthread.compression.drafts import read_draft
from everthread.compression.writing import Summarizer, Written, write_summary

TALK: list[AnyMessage] = [
    HumanMessage(
        "My flight to Lisbon leaves on Friday at nine, and I still need a hotel near the old harbour.", id="1"
    ),
    AIMessage("I can suggest two quiet hotels near the harbour: the Aurora and the Mirador. Both have rooms.", id="2"),
    HumanMessage("The Aurora then, for three nights, with breakfast, and please nothing above 120 euros.", id="3"),
]
GOOD = (
    "The user flies to Lisbon on Friday and takes the Aurora hotel for three nights with breakfast, at most 120 euros."
)
BATCH = Batch(1, tuple(TALK))


async def written(*replies: str | Exception, batch: Batch = BATCH, **values: Any) -> tuple[Written, list[Any]]:
    asked: list[Any] = []

    class Scripted(EchoModel):
        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **_: Any) -> Any:
            reply = replies[min(len(asked), len(replies) - 1)]
            asked.append(messages)
            if isinstance(reply, Exception):
                raise reply
            return GenericFakeChatModel(messages=itertools.repeat(AIMessage(reply)))._generate(messages)

    summarizer = Summarizer(Scripted(prompts=[]), {}, 30.0)
    return await write_summary(batch, Settings(**values), thread_id="t", summarizer=summarizer), asked


async def test_a_good_summary_is_taken_and_names_its_model_and_sources() -> None:
    result, asked = await written(GOOD)
    assert result.summary.content == GOOD
    assert (result.summary.method, result.summary.source_ids) == ("model", ("1", "2", "3"))
    assert len(asked) == 1


@pytest.mark.parametrize(
    "bad",
    [
        "", "   \n", "...", "Error: rate limit exceeded", "I'm sorry, but I cannot summarize this conversation.",
        "Once upon a time a traveller went over the sea to find the golden harbour.", "word " * 20_000,
        "Roses are red,\nviolets are blue,\nthe sea is so wide,\nand so are you,", "{\"summary\": \"\"}",
        "Die Katze schläft den ganzen Tag unter dem warmen Ofen und träumt vom Fischen im Bach.",
    ],
)  # fmt: skip
async def test_a_bad_summary_is_asked_for_once_more_and_then_the_extractive_one_serves(bad: str) -> None:
    result, asked = await written(bad)
    assert len(asked) == 2
    assert result.summary.method == "extractive"
    assert result.summary.rejected
    assert "Lisbon" in result.summary.content or "Aurora" in result.summary.content


async def test_the_second_try_is_told_why_the_first_was_rejected() -> None:
    result, asked = await written("Error: rate limit exceeded", GOOD)
    assert result.summary.method == "model"
    assert asked[0][0].content != asked[1][0].content


async def test_a_model_that_fails_is_replaced_or_where_the_profile_says_so_the_messages_stay() -> None:
    result, _ = await written(ConnectionError("down"))
    assert result.summary.method == "extractive"
    with pytest.raises(ModelError, match="The messages stay as they are"):
        await written(ConnectionError("down"), summary_fallback=False)


async def test_json_with_facts_and_control_characters_is_read() -> None:
    reply = (
        '```json\n{"summary": "' + GOOD + '\x01", "facts": [{"kind": "goal", "text": "a hotel near the harbour"}]}\n```'
    )
    result, _ = await written(reply)
    assert result.summary.content == GOOD
    assert [(fact.kind, fact.text) for fact in result.facts] == [("goal", "a hotel near the harbour")]


async def test_a_batch_larger_than_the_window_is_summarized_in_parts_and_none_is_left_out() -> None:
    long = tuple(
        HumanMessage(f"Topic{n}: " + "the quick brown fox jumps over it. " * 60, id=f"m{n}") for n in range(12)
    )
    _, asked = await written(
        "Several topics about a quick brown fox that jumps.", batch=Batch(1, long), max_context_tokens=1600,
        max_reply_tokens=100,
    )  # fmt: skip
    told = "\n".join(str(prompt[1].content) for prompt in asked)
    assert len(asked) > 2
    assert all(f"Topic{n}:" in told for n in range(12))


@pytest.mark.parametrize(
    ("source", "summary"),
    [
        ("用户：我下周五飞往里斯本，需要港口附近的酒店。\n助手：我推荐极光酒店，港口旁边，很安静。",
         "用户下周五飞往里斯本，选择港口旁的极光酒店。"),
        ("المستخدم: أحتاج إلى فندق قريب من الميناء القديم ليوم الجمعة.\nالمساعد: أقترح فندق الفجر القريب من الميناء.",
         "يحتاج المستخدم إلى فندق قريب من الميناء واقترح المساعد فندق الفجر."),
        ("Kullanıcı: Cuma günü Lizbon'a uçuyorum, limana yakın bir otel lazım.\nAsistan: Aurora oteli limana yakın.",
         "Kullanıcı cuma günü Lizbon'a uçuyor; limana yakın Aurora oteli önerildi."),
    ],
)  # fmt: skip
def test_a_summary_is_judged_in_its_own_language(source: str, summary: str) -> None:
    assert why_rejected(summary, source, max_chars=2000) is None
    assert why_rejected("The weather will be nice and everyone is happy today in the big city.", source, max_chars=2000)


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_can_be_judged_and_read(summary: str, source: str) -> None:
    reason = why_rejected(summary, source, max_chars=500)
    assert reason is None or reason
    assert 0.0 <= vocabulary_share(summary, source) <= 1.0
    assert isinstance(read_draft(summary).text, str)
