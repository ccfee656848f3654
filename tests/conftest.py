"""What tests share: one Postgres server a session, one schema a test, models that cost nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from blockbuster import BlockBuster
from conversation import EchoModel, open_with
from fakes.embeddings import WORDS
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from logins import login
from schemas import Schemas
from test_package import ROOMS
from variants import EACH_STORAGE, each, on_storage

from bench.server_folder import stop_server
from everthread.compression import together
from everthread.graph.conversation import CompiledConversation
from everthread.graph.open import open_graph
from everthread.models.bundled_weights import BUNDLED_MODEL
from everthread.models.embedding_models import load_embeddings
from everthread.settings.settings import Settings
from everthread.storage.embedded.server import ensure_server

for name in list(os.environ):
    if name.startswith(("EVERTHREAD_", "LANGSMITH_", "LANGCHAIN_", "OPENAI_", "ANTHROPIC_", "TAVILY_")):
        del os.environ[name]
os.environ["LANGGRAPH_CLI_NO_ANALYTICS"] = "1"
os.environ["LANGGRAPH_NO_VERSION_CHECK"] = "true"
os.environ["HF_HUB_OFFLINE"] = "1"

# No deadline: a busy machine is no fault. `make test-all` chooses the full profile.
hypothesis.settings.register_profile("quick", deadline=None, max_examples=15)
hypothesis.settings.register_profile("full", deadline=None, max_examples=200)
hypothesis.settings.load_profile("quick")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-docs", action="store_true", help="write the generated parts of the docs")


@pytest.fixture(autouse=True)
def no_blocking_calls() -> Iterator[None]:
    """A blocking call of ours on an event loop fails the test, as the LangGraph server would fail the run."""
    guard = BlockBuster(scanned_modules=[f"everthread.{room}" for room in ROOMS])
    guard.activate()
    yield
    guard.deactivate()


@pytest.fixture(scope="session")
def data_dir() -> Iterator[Path]:
    """A folder that the database's own user can reach, which the folders of pytest are not for root."""
    folder = Path(tempfile.mkdtemp(prefix="everthread-tests-"))
    folder.chmod(0o711)
    yield folder
    stop_server(folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server_url(data_dir: Path) -> str:
    """The URL of the session's own Postgres server."""
    return ensure_server(data_dir)


@pytest.fixture(scope="session")
def schemas(server_url: str) -> Iterator[Schemas]:
    """The schemas of the session's server."""
    opened = Schemas(server_url)
    yield opened
    opened.close()


@pytest.fixture
def schema(schemas: Schemas) -> Iterator[str]:
    """The name of a schema that only this test uses: all tables are there, and empty."""
    with schemas.migrated() as name:
        yield name


@pytest.fixture
def new_schema(schemas: Schemas) -> Iterator[str]:
    """The name of a schema that is not there yet."""
    with schemas.fresh() as name:
        yield name


@pytest.fixture
def settings(server_url: str, schema: str) -> Settings:
    """Settings on this test's schema; no web search, no model but those a test gives."""
    return Settings(
        database_url=server_url, database_schema=schema, web_search="off", summary_model="extractive",
        embedding_model=WORDS.model_name,
    )  # fmt: skip


@pytest.fixture(params=EACH_STORAGE)
def stored(request: pytest.FixtureRequest, settings: Settings, tmp_path: Path) -> Settings:
    """Settings on each storage, empty."""
    return on_storage(request.param, settings, tmp_path)


@pytest.fixture
def opened(stored: Settings) -> Callable[..., open_graph]:
    """Open the same storage once more, as a new process would."""

    def again(**values: Any) -> open_graph:
        embeddings = DeterministicFakeEmbedding(size=8)
        return open_with(stored, **{"model": EchoModel(prompts=[]), "embeddings": embeddings, **values})

    return again


@pytest.fixture
def at_hand(stored: Settings, data_dir: Path) -> Settings:
    """The same with all its files in `data_dir`, and summaries soon."""
    where = {} if stored.data_dir else {"database_url": "postgres", "data_dir": data_dir}
    return stored.but(n_sum=4, sum_window=2, **where)


@pytest.fixture
def environment(server_url: str, schema: str) -> dict[str, str]:
    """The environment for the command, or for a process of its own, on this test's schema."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "EVERTHREAD_EMBEDDING_MODEL": WORDS.model_name,
        "EVERTHREAD_DATABASE_URL": server_url,
        "EVERTHREAD_DATABASE_SCHEMA": schema,
        "EVERTHREAD_WEB_SEARCH": "off",
        "EVERTHREAD_MODEL": "offline",
    }


@pytest.fixture
def default_environment(environment: dict[str, str]) -> dict[str, str]:
    """The environment for a process of its own with the default embedding model, which takes seconds to load."""
    del environment["EVERTHREAD_EMBEDDING_MODEL"]
    return environment


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model is asked for each summary as soon as it is due, and not only once there is enough for a call."""
    monkeypatch.setattr(together, "LEAST_MESSAGES", 1)


@pytest.fixture(scope="session")
def embeddings() -> Embeddings:
    """An embedding model that knows words and no meaning, and costs nothing."""
    return WORDS


@pytest.fixture(scope="session")
def real_embeddings() -> Embeddings:
    """The default embedding model, for tests of what texts mean; it takes seconds to load, once."""
    model = load_embeddings(BUNDLED_MODEL)
    model.embed_query("warm")
    return model


@pytest.fixture
def echo() -> EchoModel:
    return EchoModel(prompts=[])


@pytest.fixture
async def graph(settings: Settings, embeddings: Embeddings, echo: EchoModel) -> AsyncIterator[CompiledConversation]:
    """The graph on Postgres; the model echoes."""
    async with open_graph(settings, model=echo, embeddings=embeddings) as opened:
        yield opened


@pytest.fixture
def reopen(settings: Settings, embeddings: Embeddings) -> Callable[..., open_graph]:
    """Open the same storage once more, as a new process would."""

    def opened(**values: Any) -> open_graph:
        return open_with(settings, **{"model": EchoModel(prompts=[]), "embeddings": embeddings, **values})

    return opened


@pytest.fixture
def own_server() -> Iterator[Path]:
    """A folder with a server that a test may stop or ill-treat."""
    folder = Path(tempfile.mkdtemp(prefix="everthread-own-"))
    folder.chmod(0o711)
    yield folder
    stop_server(folder)
    subprocess.run(["rm", "-rf", str(folder)], check=False)


@pytest.fixture(params=each(["superuser", "owner"], quick={"owner"}))
def owned(request: pytest.FixtureRequest) -> Iterator[Settings]:
    """Settings for a schema of a superuser, as the embedded server has, and for one of a login that policies bind."""
    given: Settings = request.getfixturevalue("settings")
    if request.param == "superuser":
        yield given
        return
    with login(given, "NOSUPERUSER") as own:
        yield own
