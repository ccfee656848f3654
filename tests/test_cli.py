"""The `everthread` command: help, chat through a pipe, threads, errors, and what a killed process leaves."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest
from command import EVERTHREAD, run, run_process
from conversation import EchoModel
from langchain_core.embeddings import Embeddings

from everthread import DEFAULT_USER, Settings, open_graph


def test_help_lists_the_commands_and_loads_nothing_heavy() -> None:
    """`--help` must answer at once, so it must not import LangGraph, torch or a database driver."""
    code = (
        "import sys; sys.argv = ['everthread', '--help']; from everthread.cli.main import app\n"
        "try: app()\nexcept SystemExit: pass\n"
        "heavy = {'torch', 'langgraph', 'langchain_core', 'psycopg', 'numpy'}\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout.rstrip().endswith("[]")
    for command in ("chat", "replay", "threads", "history", "prune", "settings", "graph"):
        assert command in done.stdout


def test_reading_what_is_stored_loads_no_graph_and_no_model(environment: dict[str, str]) -> None:
    run(environment, "chat", "--thread", "work", typed="My dog is called Biscuit.\n")
    code = (
        "import sys\nfrom everthread.cli.main import app\n"
        "for words in (['threads'], ['facts'], ['history', 'work'], ['explain', 'work']):\n"
        "    app(words, standalone_mode=False)\n"
        "heavy = ('torch', 'numpy', 'langgraph.graph', 'everthread.models.chat', 'everthread.models.embeddings', "
        "'everthread.graph', 'everthread.runtime')\n"
        "print(sorted(name for name in heavy if name in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=600, check=True
    )
    assert done.stdout.count("Biscuit") >= 2
    assert done.stdout.rstrip().endswith("[]")


def test_every_setting_is_an_option_of_the_chat(environment: dict[str, str]) -> None:
    options = [word for name in Settings.model_fields for word in (f"--{name.replace('_', '-')}", "?")]
    assert "No such option" not in run(environment, "chat", *options).stderr
    assert "--model VALUE" in " ".join(run(environment, "chat", "--help").stdout.split())


def test_a_piped_line_is_answered_and_the_exit_code_is_zero(environment: dict[str, str]) -> None:
    done = run(environment, "chat", typed="hello\n\n")
    assert done.returncode == 0, done.stderr
    assert "not a language model" in done.stdout
    assert "Thread '" in done.stdout
    assert done.stderr == ""


@pytest.mark.slow
def test_a_process_of_its_own_loads_the_default_embedding_model_and_remembers(
    default_environment: dict[str, str],
) -> None:
    typed = "My dog is called Biscuit.\nWhat name does my dog have?\n"
    done = run_process(default_environment, "chat", typed=typed)
    assert done.returncode == 0, done.stderr
    assert "Loading the embedding model" in done.stdout
    assert done.stdout.count("Biscuit") == 1
    assert done.stderr == ""


def test_a_named_thread_goes_on_in_another_process(environment: dict[str, str]) -> None:
    run(environment, "chat", "--thread", "work", typed="My dog is called Biscuit.\n")
    done = run(environment, "chat", "--thread", "work", typed="What is my dog called?\n")
    assert "going on after 2 messages" in done.stdout
    assert "Biscuit" in done.stdout.split("going on")[1]
    assert "work" in run(environment, "threads").stdout
    assert run(environment, "history", "work").stdout.count("Biscuit") >= 2
    assert run(environment, "prune", "work").returncode == 0
    assert "going on after 4 messages" in run(environment, "chat", "--thread", "work", typed="").stdout


@pytest.mark.slow
def test_a_thread_goes_on_after_its_process_was_killed(environment: dict[str, str]) -> None:
    process = subprocess.Popen(
        [EVERTHREAD, "chat", "--thread", "killed"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"My sister is called Clara.\n")
    process.stdin.flush()
    seen = b""
    while b"not a language model" not in seen:
        seen += os.read(process.stdout.fileno(), 1000)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and "Clara" not in run(environment, "history", "killed").stdout:
        pass
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = run(environment, "chat", "--thread", "killed", typed="What is my sister called?\n")
    assert done.returncode == 0
    assert "Clara" in done.stdout.split("Thread 'killed'")[1]


@pytest.mark.parametrize(
    ("words", "more", "sentence"),
    [
        (["chat", "--n-sum", "many"], {}, "Setting 'n_sum' cannot be 'many': input should be a valid integer"),
        (["chat"], {"EVERTHREAD_DATABASE_URL": "postgresql://127.0.0.1:1/x"}, "cannot be reached"),
        (["chat"], {"EVERTHREAD_MODEL": "gpt-4"}, "gpt-4"),
        (["chat"], {"EVERTHREAD_MODEL": "/nowhere/model.gguf"}, "/nowhere/model.gguf"),
        (["chat"], {"EVERTHREAD_MODEL": "nonsense:model"}, "nonsense"),
        (["chat"], {"EVERTHREAD_LOG_LEVEL": "loud"}, "EVERTHREAD_LOG_LEVEL cannot be 'loud': expected debug, info"),
        (["history", "unknown"], {}, "There is no thread 'unknown'"),
        (["explain", "unknown"], {}, "There is no thread 'unknown'"),
        (["replay", "/nowhere.json", "--thread", "x"], {}, "/nowhere.json cannot be read"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_without_a_traceback(
    environment: dict[str, str], words: list[str], more: dict[str, str], sentence: str
) -> None:
    done = run({**environment, **more}, *words, typed="hello\n")
    assert done.returncode == 1
    assert sentence in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_a_misspelt_variable_is_named_and_env_file_and_version_work(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / ".env").write_text("EVERTHREAD_MDOEL=offline\nEVERTHREAD_LOG_LEVEL=debug\n")
    done = run(environment, "--version", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.strip() == version("everthread")
    assert "EVERTHREAD_MDOEL is no setting: did you mean EVERTHREAD_MODEL?" in done.stderr
    assert done.stderr.count("is no setting") == 1


def test_any_bytes_through_the_pipe_are_answered(environment: dict[str, str]) -> None:
    done = run(environment, "chat", typed=b"\xff\xfe broken \x00 bytes\n" + "你好\n".encode() + b"x" * 200_000 + b"\n")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("not a language model") == 3


def test_a_turn_is_explained_as_text_and_as_json(environment: dict[str, str]) -> None:
    run(environment, "chat", "--thread", "work", typed="My dog is called Biscuit.\nWhat is my dog called?\n")
    last = run(environment, "explain", "work")
    assert last.returncode == 0, last.stderr
    for part in ("Turn 2", "What is my dog called?", "Web search", "Memories", "Context", "Reply", "Time", "Degraded"):
        assert part in last.stdout
    times = last.stdout.partition("Time\n")[2]
    nodes = ["keyword_check", "memory_retrieval", "pairing", "context_assembly", "llm_call", "remember"]
    assert sorted(nodes, key=times.index) == nodes
    first = json.loads(run(environment, "explain", "work", "-2", "--json").stdout)
    assert (first["turn"], first["question"]) == (1, "My dog is called Biscuit.")
    assert "its turns are 1 to 2" in run(environment, "explain", "work", "7").stderr


def test_a_context_is_shown_a_range_summarized_and_a_text_pinned_and_removed(environment: dict[str, str]) -> None:
    run(environment, "chat", "--thread", "work", typed="My dog is called Biscuit.\nI live in Oslo.\n")
    shown = run(environment, "context", "work", "What is my dog called?")
    assert shown.returncode == 0, shown.stderr
    assert "Human: " in shown.stdout
    assert "tokens, " in shown.stdout
    ids = [line.split()[0] for line in shown.stdout.strip().splitlines()[-4:]]
    made = run(environment, "summarize", "work", ids[0], ids[2])
    assert "Biscuit" in made.stdout
    assert "no messages from" in run(environment, "summarize", "work", ids[2], ids[0]).stderr
    pinned = run(environment, "pin", "work", "Flight on May 3", "--score", "0.9", "--source", ids[0])
    assert pinned.returncode == 0, pinned.stderr
    id_ = pinned.stdout.split()[0]
    assert "Flight" in run(environment, "facts").stdout
    assert run(environment, "unpin", id_[:8]).stdout == "Removed: Flight on May 3\n"
    assert "Flight" not in run(environment, "facts").stdout
    assert "no pin" in run(environment, "unpin", id_).stderr
    assert "a score from 0 to 1" in run(environment, "pin", "work", "x y", "--score", "2").stderr


def test_trace_shows_what_a_summary_was_made_from(environment: dict[str, str]) -> None:
    run(environment, "chat", "--thread", "told", typed="My dog is Biscuit.\nMy cat is Crumb.\nMy fish is Salt.\n")
    shown = run(environment, "trace", "told").stdout
    assert "level 1" in shown
    assert "My fish is Salt." in shown
    assert "user:" in shown
    unknown = run(environment, "trace", "nosuch")
    assert unknown.stderr.startswith("everthread: There is no thread 'nosuch': `everthread threads` lists yours")
    failed = run(environment, "trace", "told", "nosuch")
    assert failed.returncode != 0
    assert "no summary 'nosuch'" in failed.stderr


def test_commands_in_the_chat_are_answered_by_the_graph(environment: dict[str, str]) -> None:
    shown = run(environment, "chat", typed="/summary_status\n").stdout
    assert "Summaries: on" in shown


async def test_a_thread_that_a_program_named_is_found_by_that_name(
    environment: dict[str, str], settings: Settings, embeddings: Embeddings
) -> None:
    """As in the README: a thread id need be no UUID."""
    async with open_graph(settings, model=EchoModel(prompts=[]), embeddings=embeddings) as graph:
        await graph.ainvoke(
            {"messages": [("user", "My locker is QX-1.")]},
            {"configurable": {"thread_id": "t1"}},
            context={"user_id": DEFAULT_USER},
        )

    def ran(*words: str, typed: str = "") -> str:
        done = run(environment, *words, typed=typed)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "My locker is QX-1." in await asyncio.to_thread(ran, "history", "t1")
    assert "My locker is QX-1." in await asyncio.to_thread(ran, "explain", "t1")
    assert "nothing is wrong" in await asyncio.to_thread(ran, "doctor", "t1")
    assert "going on after 2 messages" in await asyncio.to_thread(ran, "chat", "--thread", "t1", typed="Hello.\n")
    assert "Deleted: 1 thread, 4 messages" in await asyncio.to_thread(ran, "delete", "t1", "--yes")
