"""A server and its standby: memories are read from the standby, and what was just said or forgotten is known anyway."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from conversation import EchoModel, open_with, say
from langchain_core.embeddings import Embeddings
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pydantic import SecretStr
from two_servers import TwoServers, two_servers

from bench.pgbouncer import pgbouncer
from bench.server_folder import stop_server
from everthread import Settings
from everthread.graph.conversation import CompiledConversation
from everthread.maintenance.doctor import examine

pytestmark = pytest.mark.slow

READS = "SELECT coalesce(sum(idx_scan + seq_scan), 0)::bigint{} FROM pg_stat_user_tables WHERE relname = 'vectors'"
"""Of the standby: how often vectors were read there."""

SAID = {"The harbour has a red crane.", "The garden has a blue gate."}


@pytest.fixture
def servers(own_server: Path) -> Iterator[TwoServers]:
    with two_servers(own_server) as both:
        yield both


@pytest.fixture
def on_both(servers: TwoServers, settings: Settings) -> Settings:
    """Settings with a URL that names both, the standby first."""
    return settings.but(database_url=SecretStr(servers.both), database_schema="everthread")


def new_process(settings: Settings, embeddings: Embeddings) -> Any:
    return open_with(settings, model=EchoModel(prompts=[]), embeddings=embeddings)


async def found(graph: CompiledConversation, question: str) -> set[str]:
    """The texts of Ada's messages that are nearest to a question."""
    ada = graph.resources.of_user("ada")  # type: ignore[attr-defined]
    near = await ada.search.nearest(question, limit=3, timeout=60)
    said = {message.id: message.text for message in await ada.archive.messages("t1")}
    return {said[source.source_id] for source in near if source.source_type == "message"}


async def test_a_memory_is_read_from_the_standby_and_what_is_newer_from_the_server(
    servers: TwoServers, on_both: Settings, embeddings: Embeddings
) -> None:
    async with new_process(on_both, embeddings) as graph:
        await say(graph, "The harbour has a red crane.")
        await graph.asettled()
    servers.catch_up()
    ((before,),) = servers.on_standby(READS.format(""))
    async with new_process(on_both, embeddings) as graph:
        assert "The harbour has a red crane." in await found(graph, "The harbour has a red crane")
    servers.wait_for(READS.format(f" > {before}"))

    servers.on_standby("SELECT pg_wal_replay_pause()")  # from here on it is behind, for good
    async with new_process(on_both, embeddings) as graph:
        await say(graph, "The garden has a blue gate.")
        await graph.asettled()
    async with new_process(on_both, embeddings) as graph:
        assert "The garden has a blue gate." in await found(graph, "The garden has a blue gate")
        assert "The harbour has a red crane." in await found(graph, "The harbour has a red crane")
        (said, *_) = await graph.resources.of_user("ada").archive.messages("t1")
        await graph.aforget("ada", "t1", messages=[said.id])
    async with new_process(on_both, embeddings) as graph:
        assert "The harbour has a red crane." not in await found(graph, "The harbour has a red crane")
        assert "The garden has a blue gate." in await found(graph, "The garden has a blue gate")


async def test_where_the_standby_is_gone_the_server_is_read(
    servers: TwoServers, on_both: Settings, embeddings: Embeddings, caplog: pytest.LogCaptureFixture
) -> None:
    async with new_process(on_both, embeddings) as graph:
        await say(graph, "The harbour has a red crane.")
        await graph.asettled()
    servers.process.send_signal(signal.SIGINT)
    await asyncio.to_thread(servers.process.wait)
    async with new_process(on_both, embeddings) as graph:
        assert "The harbour has a red crane." in await found(graph, "The harbour has a red crane")
    assert "no standby is read, but the server itself" in caplog.text


async def test_after_a_failover_the_same_process_goes_on_at_the_server_that_takes_writes(
    servers: TwoServers, on_both: Settings, embeddings: Embeddings, own_server: Path
) -> None:
    async with new_process(on_both, embeddings) as graph:
        await say(graph, "The harbour has a red crane.")
        await graph.asettled()
        servers.catch_up()
        await asyncio.to_thread(stop_server, own_server)
        servers.on_standby("SELECT pg_promote()")
        await say(graph, "The garden has a blue gate.")
        await graph.asettled()
        assert await found(graph, "harbour crane garden gate") >= SAID
        (checkup,) = await examine(graph, "ada", "t1")
        assert checkup.findings == ()
    async with new_process(on_both, embeddings) as graph:
        assert await found(graph, "harbour crane garden gate") >= SAID


async def test_a_pooler_may_stand_before_each(servers: TwoServers, on_both: Settings, embeddings: Embeddings) -> None:
    with ExitStack() as stack:
        try:
            poolers = [stack.enter_context(pgbouncer(url)) for url in (servers.standby, servers.primary)]
        except FileNotFoundError as error:
            pytest.skip(str(error))
        ports = ",".join(str(conninfo_to_dict(url)["port"]) for url in poolers)
        both = make_conninfo(poolers[0], host="127.0.0.1,127.0.0.1", port=ports)
        pooled = on_both.but(database_url=SecretStr(both), prepare_statements=False)
        async with new_process(pooled, embeddings) as graph:
            for text in sorted(SAID):
                await say(graph, text)
            await graph.asettled()
        servers.catch_up()
        ((before,),) = servers.on_standby(READS.format(""))
        async with new_process(pooled, embeddings) as graph:
            assert await found(graph, "harbour crane garden gate") >= SAID
        servers.wait_for(READS.format(f" > {before}"))
