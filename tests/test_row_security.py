"""The second wall on Postgres: the server itself keeps users apart, whatever a statement asks for."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from langchain_core.messages import HumanMessage

from everthread.settings.settings import Settings
from everthread.storage.archive import Archive
from everthread.storage.postgres.database import Database
from everthread.storage.user_rows import UserRows


@pytest.fixture
async def database(settings: Settings) -> AsyncIterator[Database]:
    opened = Database(settings)
    for user in ("ada", "bob"):
        await Archive(UserRows(opened, user)).add_messages(
            f"of-{user}", [HumanMessage(f"I am {user}.", id=f"m-{user}")]
        )
    yield opened
    await opened.close()


OF_ANYBODY = "SELECT text FROM messages WHERE %(user_id)s <> '' ORDER BY text"


async def test_a_statement_without_the_condition_meets_the_rows_of_its_user_alone(database: Database) -> None:
    rows = UserRows(database, "ada")
    mine = [{"text": "I am ada."}]
    assert database.row_security
    assert await rows.fetch(OF_ANYBODY) == mine
    assert await rows.transaction((OF_ANYBODY, {})) == mine
    assert await rows.fetch_each((OF_ANYBODY, {})) == [mine]
    assert await rows.tuples((OF_ANYBODY, {})) == [[("I am ada.",)]]
    assert await rows.exclusive(lambda exchange: exchange.fetch(OF_ANYBODY)) == mine
    assert await rows.snapshot(lambda snapshot: anext(snapshot.batches(OF_ANYBODY))) == mine
