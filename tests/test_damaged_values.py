"""What single damaged values once broke, each put right in one place: numbers at their limit, times, ids, exports."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from conversation import say
from damaged_store import Store, filled_store

from everthread import (
    ConversationMemory,
    InputError,
    Settings,
    StorageError,
    correct_summary,
    examine,
    regenerate_rejected,
)
from everthread.cli.json_output import MessageLine
from everthread.maintenance.transfer_format import check_file
from everthread.runtime.forget import records
from everthread.runtime.retention import RetentionPass

END_OF_THE_CALENDAR = "9999-12-31T23:59:59.999999+00:00"

UNFIT = (
    f"threads SET created_at = '{END_OF_THE_CALENDAR}', retention = 'weird'",
    "summaries SET tokens = -1, level = -1",
    "summary_versions SET tokens = -1",
    "messages SET role = 'tool' WHERE text LIKE '%boat is blue%' AND role = 'user'",
    f"facts SET said_at = '{END_OF_THE_CALENDAR}'",
    "pins SET score = 7",
)
"""Damages that an import refuses."""


@pytest.fixture(params=["sqlite", "postgres"])
async def store(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> AsyncIterator[Store]:
    async with filled_store(request.param, settings, tmp_path) as filled:
        yield filled


def memory_of(store: Store) -> ConversationMemory:
    return ConversationMemory(store.graph.resources, "ada")


async def id_of(store: Store, said: str) -> str:
    return next(m.id for m in await memory_of(store).ahistory("t1") if said in m.text)


async def repaired(store: Store) -> set[str]:
    """Have the doctor mend what it can; the kinds of what it found."""
    found = {finding.kind for checkup in await examine(store.graph, "ada", repair=True) for finding in checkup.findings}
    await store.graph.asettled()
    return found


async def says(store: Store, words: str, *tables: str) -> list[str]:
    """The tables of these that hold some words."""
    text = {"messages": "text", "summaries": "content", "vectors": "content"}
    rows = {t: await store.sql(f"SELECT 1 FROM {t} WHERE {text[t]} LIKE '%{words}%'") for t in tables}
    return [table for table, found in rows.items() if found]


async def test_numbers_at_the_limit_of_their_column_end_nothing(store: Store) -> None:
    """One more than that is no number of a column: a turn was not remembered, and nothing was forgotten any more."""
    boat = await id_of(store, "The boat is blue")
    await store.graph.aforget("ada", "t1", messages=[await id_of(store, "I prefer tea")])
    await store.by_hand(f"UPDATE messages SET seq = 9223372036854775807 WHERE id = '{await id_of(store, 'And on.')}'")
    await store.by_hand("UPDATE left_out SET times = 2147483647")
    await store.by_hand("UPDATE summaries SET version = 2147483647, tries = 2147483647, rejected = 'weird'")
    state = await say(store.graph, "Now to something else.")
    assert state["after_reply"].error is None
    await store.graph.aforget("ada", "t1", messages=[boat])
    assert not await says(store, "boat is blue", "messages", "summaries", "vectors")
    await say(store.graph, "I prefer tea.")
    await store.graph.aforget("ada", "t1", messages=[await id_of(store, "I prefer tea")])
    await regenerate_rejected(store.graph, "ada", "t1")
    row = (await store.sql("SELECT id FROM summaries WHERE version = 2147483647 ORDER BY id LIMIT 1"))[0]
    with pytest.raises(InputError, match="is damaged"):
        await correct_summary(store.graph, "ada", row["id"], "By hand.")
    assert "damaged row" in await repaired(store)
    assert (await correct_summary(store.graph, "ada", row["id"], "By hand.")).version == 2


async def test_a_time_at_the_end_of_the_calendar_is_none(store: Store) -> None:
    """Days after it are none: turns failed on it, also where a client had said so."""
    blue = await id_of(store, "The boat is blue")
    await store.by_hand(f"UPDATE messages SET created_at = '{END_OF_THE_CALENDAR}' WHERE id = '{blue}'")
    said = {"role": "user", "content": "My boat is in the harbour.", "created_at": END_OF_THE_CALENDAR}
    await memory_of(store).aremember(said, thread_id="t1")
    state = await say(store.graph, "What did I say about the boat in May?")
    assert state["messages"][-1].content.startswith("You said")
    assert "damaged row" in await repaired(store)
    assert all(message.created_at.year < 9999 for message in await memory_of(store).ahistory("t1"))
    assert blue in {message.id for message in await memory_of(store).ahistory("t1")}


async def test_what_is_made_from_a_row_that_was_renamed_is_forgotten_with_it(store: Store) -> None:
    """Vectors of a summary that has another id, a summary whose sources nobody knows, a reply that repeats it."""
    boat = await id_of(store, "The boat is blue")
    await store.by_hand("UPDATE summaries SET id = 'renamed' WHERE content = 'Again 4.'")
    sources = "'[]'" if not store.is_postgres else "'{}'"
    await store.by_hand(f"UPDATE summaries SET content = 'The boat is blue.', source_ids = {sources} "
                        "WHERE content = 'Again 0.'")  # fmt: skip
    await store.by_hand(f"UPDATE messages SET role = 'weird' WHERE id = '{boat}'")
    await store.by_hand("UPDATE vectors SET content = 'The boat is blue.' WHERE content = 'Again 4.'")
    await store.graph.aforget("ada", "t1", messages=[boat])
    assert not await says(store, "boat is blue", "messages", "summaries", "vectors")


async def test_all_that_a_user_said_goes_with_all_threads_also_what_has_lost_its_thread(store: Store) -> None:
    blue = await id_of(store, "The boat is blue")
    await store.by_hand(f"UPDATE messages SET thread_id = 'lost' WHERE id = '{blue}'")
    await store.graph.adelete("ada")
    assert not await store.rows("messages")


async def test_nothing_is_exported_that_no_import_takes_and_all_is_after_a_repair(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    await store.save()
    for damage in UNFIT:
        await store.by_hand(f"UPDATE {damage}")
        with pytest.raises(StorageError, match=r"\d+ rows are damaged"):
            await memory_of(store).aexport(file)
        assert not file.exists()
        assert "damaged row" in await repaired(store), damage
        counts = await memory_of(store).aexport(file)
        assert counts.messages == await store.rows("messages")
        assert set(check_file(file).threads) == {"t1", "t2", "t3"}
        file.unlink()
        await store.restore()


async def test_a_summary_that_lacks_a_source_travels_as_it_is(store: Store, tmp_path: Path) -> None:
    await store.by_hand("DELETE FROM messages WHERE text LIKE '%boat is blue%'")
    await memory_of(store).aexport(tmp_path / "a.jsonl")
    summaries = await store.rows("summaries")
    await store.graph.adelete("ada")
    await memory_of(store).aimport_(tmp_path / "a.jsonl")
    assert await store.rows("summaries") == summaries
    found = {finding.kind for checkup in await examine(store.graph, "ada") for finding in checkup.findings}
    assert "source missing" in found


async def test_a_message_that_was_renamed_has_its_id_again(store: Store) -> None:
    blue = await id_of(store, "The boat is blue")
    before = await store.rows("messages")
    await store.by_hand(f"UPDATE messages SET id = 'renamed' WHERE id = '{blue}'")
    assert "damaged row" in await repaired(store)
    assert await id_of(store, "The boat is blue") == blue
    assert await store.rows("messages") == before
    assert {f.kind for checkup in await examine(store.graph, "ada") for f in checkup.findings} == set()


async def test_vectors_that_name_another_source_are_made_again(store: Store) -> None:
    also = "" if store.is_postgres else ", user_id = 'nobody'"  # there, each user has ids of their own
    await store.by_hand(f"UPDATE vectors SET source_id = 'renamed', model = 'weird'{also}")
    assert "not embedded" in await repaired(store)
    assert await store.sql("SELECT 1 FROM vectors WHERE source_id = 'renamed'") == []
    found = await memory_of(store).arecall("boat")
    assert any(fragment.content == "The boat is blue." for memory in found for fragment in memory.fragments)


async def test_nothing_goes_of_a_thread_whose_retention_nobody_can_read(store: Store) -> None:
    """The run went no further, for no user."""
    settings = store.graph.resources.settings
    await store.by_hand("UPDATE messages SET created_at = '2020-01-01T00:00:00.000000+00:00'")
    await store.by_hand("UPDATE threads SET retention = 'weird' WHERE thread_id = 't1'")
    kept = len(await memory_of(store).ahistory("t1"))
    store.graph.resources.settings = settings.but(retention="messages=30d")
    run = await RetentionPass(store.graph.resources, rests=0).run()
    assert run is not None
    assert run.error is None
    assert len(await memory_of(store).ahistory("t1")) == kept
    assert await memory_of(store).ahistory("t2") == []


async def test_a_damaged_estimate_of_tokens_costs_no_message(store: Store) -> None:
    known = len(await memory_of(store).ahistory("t1"))
    await store.by_hand("UPDATE messages SET tokens = -7")
    lines = [MessageLine.of(message) for message in await memory_of(store).ahistory("t1")]
    assert [line.tokens for line in lines] == [0] * known


async def test_what_waits_to_be_embedded_is_embedded_though_nobody_knows_when_it_was_said(store: Store) -> None:
    """One such row kept all that waited from being embedded."""
    await store.by_hand(
        f"UPDATE messages SET created_at = '{END_OF_THE_CALENDAR}', embedded_with = NULL, term_keys = NULL"
    )
    await store.by_hand(f"UPDATE summaries SET created_at = '{END_OF_THE_CALENDAR}', embedded_with = NULL")
    user: Any = store.graph.resources.of_user("ada")
    while await user.vectors.embed_pending(timeout=60):
        pass
    await memory_of(store).arecall("boat")
    for table, column in (("messages", "embedded_with"), ("summaries", "embedded_with"), ("messages", "term_keys")):
        assert await store.sql(f"SELECT 1 FROM {table} WHERE {column} IS NULL") == []


async def test_a_thread_without_a_beginning_is_listed(store: Store) -> None:
    await store.by_hand(f"UPDATE threads SET created_at = '{END_OF_THE_CALENDAR}'")
    listed = await memory_of(store).athreads()
    assert {row["thread_id"] for row in listed if row["created_at"].year < 9999} == {"t1", "t2", "t3"}


async def test_text_in_a_column_of_numbers_is_no_number(settings: Settings, tmp_path: Path) -> None:
    """SQLite lets anybody write it: pages, reports and the doctor counted with it."""
    async with filled_store("sqlite", settings, tmp_path) as store:
        user: Any = store.graph.resources.of_user("ada")
        await store.graph.aforget("ada", "t1", messages=[await id_of(store, "I prefer tea")])
        await store.by_hand("UPDATE deletions SET messages = 'weird'")
        await store.by_hand("UPDATE turn_reports SET turn = 'weird' WHERE thread_id = 't2'")
        await store.by_hand("UPDATE forgotten_numbers SET seq = x'ff'")
        await store.by_hand("UPDATE summary_versions SET version = 'weird'")
        await store.by_hand("UPDATE messages SET term_keys = 7, text = x'ff' WHERE text = 'Another thread.'")
        assert [row["messages"] for row in await records(user.rows)] == [0]
        assert await user.reports.last_turn("t2") == 0
        assert "damaged row" in await repaired(store)
        assert await store.sql("SELECT 1 FROM turn_reports WHERE turn = 'weird'") == []
        assert not (await say(store.graph, "And what else?"))["report"].get("degraded")
