"""Each value of each table is damaged in turn: turns go on, nothing else is lost, the doctor mends the row."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
from conversation import EchoModel, open_with, say
from damaged_store import SAID, TABLES, Store, filled_store
from langchain_core.embeddings import DeterministicFakeEmbedding

from everthread import Settings, examine
from everthread.storage.user_rows import UserRows

NAMED: Final = {"fact without source", "source missing", "message missing"}


@pytest.fixture(params=["sqlite", "json", "postgres"])
async def store(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> AsyncIterator[Store]:
    async with filled_store(request.param, settings, tmp_path) as filled:
        yield filled


async def archived(store: Store) -> dict[str, str]:
    """What the archive holds of the thread: texts by id."""
    return {m.id: m.text for m in await store.graph.resources.of_user("ada").archive.messages("t1")}


async def lost(store: Store, known: dict[str, str]) -> list[str]:
    """Which messages are not there, neither by id nor by text: the newest, if its id is damaged, goes on under that."""
    held = await archived(store)
    return [id_ for id_, text in known.items() if id_ not in held and text not in held.values()]


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
async def test_a_damaged_value_costs_its_row_and_no_turn(store: Store, table: str) -> None:
    await store.save()
    known = await archived(store)
    counts, failures = {name: await store.rows(name) for name in TABLES}, []
    async for damage in store.damages(table):
        try:
            await goes_on(store, known, counts)
        except Exception as error:  # told with all others
            failures.append(f"{damage}: {type(error).__name__}: {str(error)[:300]}")
    assert not failures, "\n" + "\n".join(failures)


@pytest.mark.slow
@pytest.mark.parametrize("table", ["messages", "summaries", "turn_reports"])
async def test_a_damaged_value_keeps_nothing_from_being_forgotten(store: Store, table: str) -> None:
    """By its id and in the chat: a row that nobody can read may not stand between a user and what is to be gone."""
    await store.save()
    failures = []
    async for damage in store.damages(table):
        try:
            await is_forgotten(store, is_moved=damage.startswith("thread_id"))
        except Exception as error:  # told with all others
            failures.append(f"{damage}: {type(error).__name__}: {str(error)[:300]}")
    assert not failures, "\n" + "\n".join(failures)


@pytest.mark.parametrize("damage", ["2147483647", "-7"])
async def test_a_summary_of_summaries_with_damaged_counts_is_rewritten(store: Store, damage: str) -> None:
    """What they cover together is no more than a column holds, and no less than nothing."""
    user = store.graph.resources.of_user("ada")
    above = next(summary for summary in await user.archive.summaries("t1") if summary.level == 2)
    await store.sql(f"UPDATE summaries SET covers = {damage} WHERE level = 1")
    boat = next(m.id for m in await user.archive.messages("t1") if "boat" in m.text)
    await store.graph.aforget("ada", "t1", messages=[boat])
    (row,) = await store.sql(f"SELECT content, covers FROM summaries WHERE id = '{above.id}'")
    assert row["content"] != above.content
    assert 0 <= row["covers"] <= 2**31 - 1


async def is_forgotten(store: Store, *, is_moved: bool) -> None:
    boat = next(m.id for m in await store.graph.resources.of_user("ada").archive.messages("t1") if "boat" in m.text)
    await store.graph.aforget("ada", "t1", messages=[boat])
    state = await say(store.graph, "Forget that my sister likes jazz.", to="t1")
    forgotten = state["facts"].forgotten
    assert forgotten is not None
    assert forgotten.error is None
    if forgotten.is_done and not is_moved:  # else it is the damaged row that says it
        told = [message.text for message in await store.graph.resources.of_user("ada").archive.messages("t1")]
        assert "My sister likes jazz." not in told


async def goes_on(store: Store, known: dict[str, str], counts: dict[str, int]) -> None:
    """Turns go on in this thread and in another; no other row is lost, and the doctor leaves nothing to tell."""
    graph = store.graph
    for to in ("t1", "t4"):
        state = await say(graph, "Where does my sister live, and what of the boat and Biscuit?", to=to)
        assert state["messages"][-1].content.startswith("You said"), "a reply"
    await graph.asettled()
    assert len(await lost(store, known)) <= 1, "messages are lost"
    for name, count in counts.items():
        if name != "search_cache":
            assert await store.rows(name) >= count, f"{name} has fewer rows"
    told = [sentence for sentence in state["report"].get("degraded", ()) if "amaged" in sentence]
    for checkup in await examine(graph, "ada", repair=True):
        # What nobody knows any more is named: a message that is gone, a source that was there.
        left = [finding for finding in checkup.left if finding.kind not in NAMED and not finding.harmless]
        assert not left, f"{left}"
    await graph.asettled()
    assert not await lost(store, known), "a message is lost after the repair"
    user: UserRows = graph.resources.of_user("ada").rows
    user.skipped.told()
    state = await say(graph, "Where does my sister live, and what of the boat and Biscuit?")
    again = list(state["report"].get("degraded", ()))
    assert not again, f"{again} (before: {told})"


@pytest.mark.parametrize("table", ["messages", "summaries", "facts", "pins", "vectors", "turn_reports", "threads"])
async def test_a_row_of_the_json_file_that_no_table_holds_stays_in_the_file(
    settings: Settings, tmp_path: Path, table: str
) -> None:
    """A row such as `{"broken": 1}`: the file opens, turns go on, and what a person may still mend is not lost."""
    settings = settings.but(database_url="json", data_dir=tmp_path)
    path, components = tmp_path / "memory.json", {"embeddings": DeterministicFakeEmbedding(size=8)}
    async with open_with(settings, model=EchoModel(prompts=[]), **components) as graph:
        await say(graph, SAID[1])
        await graph.asettled()
    content = json.loads(path.read_text(encoding="utf-8"))
    rows = content[table].setdefault("ada", [])
    rows.append({"broken": 1})
    path.write_text(json.dumps(content), encoding="utf-8")
    async with open_with(settings, model=EchoModel(prompts=[]), **components) as graph:
        state = await say(graph, "And on.")
        assert [message.content for message in state["messages"]][::2] == [SAID[1], "And on."]
    after = json.loads(path.read_text(encoding="utf-8"))
    assert after["unread"] == [[table, "ada", {"broken": 1}]]
    assert len(after[table].get("ada", ())) >= len(rows) - 1


async def test_rows_that_were_skipped_are_told_counted_and_mended(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[str] = []
    monkeypatch.setattr(store.database.observer, "skipped", counted.append)
    fact = (await store.sql("SELECT id FROM facts ORDER BY id LIMIT 1"))[0]["id"]
    pin = (await store.sql("SELECT id FROM pins ORDER BY id LIMIT 1"))[0]["id"]
    facts = {one.id for one in await store.graph.resources.of_user("ada").facts.all_facts()}
    await store.sql(f"UPDATE facts SET kind = 'weird' WHERE id = '{fact}'")
    await store.sql(f"UPDATE pins SET score = 7 WHERE id = '{pin}'")
    state = await say(store.graph, "Where does my sister live?", to="t5")
    (told,) = state["report"]["degraded"]
    assert told.startswith("Damaged rows were skipped (2)")
    assert f"{fact} in facts" in told
    assert f"{pin} in pins" in told
    assert set(counted) == {"facts", "pins"}
    assert {one.id for one in await store.graph.resources.of_user("ada").facts.all_facts()} == facts - {fact}
    (checkup,) = await examine(store.graph, "ada", "t1", repair=True)
    damaged = next(finding for finding in checkup.findings if finding.kind == "damaged row")
    assert set(damaged.ids) == {f"{fact} in facts", f"{pin} in pins"}
    assert {one.id for one in await store.graph.resources.of_user("ada").facts.all_facts()} == facts
