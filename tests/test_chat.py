"""The chat in the terminal: its commands, pastes, keys, and how a reply is shown."""

from __future__ import annotations

import io
import os
import pty
import select
import time
from pathlib import Path

import pytest
from command import EVERTHREAD, run
from fake_web import running_server
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from everthread.cli.chat_commands import COMMANDS, read_chat_command
from everthread.cli.opening import say
from everthread.cli.reply import MarkdownReply, complete_blocks, printable
from everthread.models.bundled_weights import BUNDLED_MODEL
from everthread.search.breaker import process_breakers
from everthread.settings.profiles import PROFILES


def typed(environment: dict[str, str], *lines: str) -> str:
    done = run(environment, "chat", "--thread", "work", typed="\n".join(lines) + "\n")
    assert done.stderr == ""
    return done.stdout


def test_help_names_every_command(environment: dict[str, str]) -> None:
    shown = typed(environment, "/help")
    assert [name for name in (*COMMANDS, "/summary_status") if name not in shown.replace(", _", ", /summary_")] == []


@pytest.mark.parametrize("line", ["/help", "/status", "/facts", "exit", "Quit", "/quit", "/threads", "/usr is full"])
def test_a_command_is_neither_answered_by_the_model_nor_kept(environment: dict[str, str], line: str) -> None:
    shown = typed(environment, line)
    assert "not a language model" not in shown
    assert run(environment, "history", "work").stdout == ""


@pytest.mark.parametrize(
    "line", ["/etc/hosts is a file", " /status of what?", "/", "// a comment", "please exit", "1/2"]
)
def test_what_only_looks_like_a_command_is_said(environment: dict[str, str], line: str) -> None:
    typed(environment, line)
    assert line.strip() in run(environment, "history", "work").stdout


def test_who_writes_in_another_language_is_told_once_of_the_model_that_knows_it(environment: dict[str, str]) -> None:
    advice = "EVERTHREAD_EMBEDDING_MODEL=multilingual-e5-small"
    default = {**environment, "EVERTHREAD_EMBEDDING_MODEL": BUNDLED_MODEL}
    assert typed(default, "我的狗叫饼干。", "كلبي اسمه بسكويت.").count(advice) == 1
    assert advice not in typed(default, "My dog is called Biscuit.", "ok")


def test_an_unknown_command_is_named_and_help_is_offered(environment: dict[str, str]) -> None:
    done = run(environment, "chat", typed="/status\n")
    assert "There is no command /status: /help lists them." in done.stdout
    assert done.returncode == 1


def test_what_follows_quit_is_not_read(environment: dict[str, str]) -> None:
    typed(environment, "first", "/quit", "second")
    said = run(environment, "history", "work").stdout
    assert "first" in said
    assert "second" not in said


def test_threads_history_and_explain_show_what_the_commands_of_these_names_show(environment: dict[str, str]) -> None:
    shown = typed(
        environment, "My dog is called Biscuit.", "What is my dog called?", "/threads", "/history 2", "/explain 1"
    )
    assert "│ work" in shown
    assert shown.count("user: What is my dog called?") == 1
    assert "user: My dog is called Biscuit." not in shown
    assert "Turn 1, " in shown


def test_a_fact_is_listed_and_forgotten_by_its_id(environment: dict[str, str]) -> None:
    environment["COLUMNS"] = "200"
    typed(environment, "I live in Oslo.")
    listed = run(environment, "facts").stdout
    (row,) = [line for line in listed.splitlines() if "Oslo" in line]
    shown = typed(environment, f"/forget {row.split('│')[1].strip()}", "/facts")
    assert "Forgotten: " in shown
    assert "Oslo" not in shown.split("Forgotten: ")[1].split("\n", 1)[1]


def test_a_profile_is_shown_and_chosen(environment: dict[str, str]) -> None:
    shown = typed(environment, "/profile", "/profile archive", "hello", "/summary_status", "/profile nonsense")
    assert shown.index("Profile 'multi_strategy'") < shown.index("Profile 'archive'")
    assert "- Profile: archive" in shown
    assert all(name in shown for name in PROFILES)
    assert "everthread: " in shown.split("- Profile: archive")[1]


@pytest.mark.parametrize("command", ["/history many", "/explain 99", "/forget", "/forget zzz", "/profile layerd"])
def test_a_wrong_argument_is_one_sentence_and_the_chat_goes_on(environment: dict[str, str], command: str) -> None:
    shown = typed(environment, command, "still there?")
    assert "everthread: " in shown
    assert "not a language model" in shown


def test_help_shows_the_options_that_matter_and_all_are_taken(environment: dict[str, str]) -> None:
    shown = " ".join(run(environment, "history", "--help").stdout.split())
    assert "--database-url VALUE" in shown
    assert "--similarity-threshold" not in shown
    assert "--pool-size" not in shown
    assert len(shown) < 1_900
    assert all(name in " ".join(run(environment, "chat", "--help").stdout.split()) for name in PROFILES)
    assert "everthread settings" in shown
    assert run(environment, "threads", "--similarity-threshold", "0.5").returncode == 0
    assert "similarity_threshold" in run(environment, "settings").stdout


def test_a_turn_that_searched_the_web_says_with_what_and_one_that_could_not_says_why(
    environment: dict[str, str],
) -> None:
    with running_server() as server:
        searching = {
            "EVERTHREAD_WEB_SEARCH": "always",
            "EVERTHREAD_SEARCH_ENGINES": "searxng",
            "SEARXNG_URL": f"{server.url}/searx",
        }
        shown = typed({**environment, **searching}, "What do ants eat?", "And bees?")
    assert "(searched the web with searxng: 2 results)" in shown
    process_breakers.clear()
    shown = typed({**environment, **searching}, "What do wasps eat?", "still there?")
    assert shown.count("(The web search brought nothing: searxng cannot be reached.)") == 2
    assert shown.count("not a language model") == 2


@pytest.mark.parametrize(
    ("encoding", "said"),
    [("ascii", "My dog Bjørn likes 🦴.".encode()), ("latin-1", "My dog Bjørn likes it.".encode("latin-1"))],
)
def test_a_console_of_another_encoding_takes_and_shows_everything(
    environment: dict[str, str], encoding: str, said: bytes
) -> None:
    typed = said + b"\n/facts\n/explain\n/threads\n/history\n/help\n"
    done = run(environment, "chat", "--thread", "work", typed=typed, encoding=encoding)
    assert (done.returncode, done.stderr) == (0, "")
    assert "/threads" in done.stdout
    assert "My dog Bjørn likes" in run(environment, "history", "work").stdout
    run(environment, "chat", "--thread", "work", typed="I live in 東京 🦴.\n")
    for command in (["history", "work"], ["explain", "work"], ["facts"], ["context", "work", "🦴?"]):
        done = run(environment, *command, encoding=encoding)
        assert done.returncode == 0, done.stderr


def test_what_is_no_reply_is_wrapped_at_words_in_a_terminal_and_whole_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    for is_terminal in (True, False):
        out = io.StringIO()
        monkeypatch.setattr(out, "isatty", lambda is_terminal=is_terminal: is_terminal)
        monkeypatch.setattr("sys.stdout", out)
        say("one two three " * 10)
        lines = out.getvalue().rstrip("\n").split("\n")
        assert len(lines) > 1 if is_terminal else len(lines) == 1
        assert {word for line in lines for word in line.split()} == {"one", "two", "three"}


@given(st.lists(st.sampled_from(["a", "\n", "\n\n", "```", "~~~", "- b", "\n```py\n", "é"]), max_size=40))
def test_a_reply_in_blocks_is_the_whole_reply_and_code_stays_together(parts: list[str]) -> None:
    shown, growing = "", ""
    for part in parts:
        complete, growing = complete_blocks(growing + part)
        shown += complete
        assert "\n\n" not in growing or "```" in growing or "~~~" in growing
    assert shown + growing == "".join(parts)


@given(st.text())
def test_what_a_terminal_shows_cannot_steer_it(text: str) -> None:
    assert not [c for c in printable(text) if (ord(c) < 32 and c not in "\n\t") or 127 <= ord(c) < 160]


def test_markdown_is_drawn_and_nothing_is_shown_twice(tmp_path: Path) -> None:
    with (tmp_path / "shown").open("w+") as file:
        view = MarkdownReply(Console(file=file, width=40, force_terminal=False))
        view.doing("Thinking ...")
        for token in ("# Tit", "le\n\nSome **bo", "ld** words\n\n```\nx = 1\n\ny", " = 2\n```\nthe ", "end"):
            view.add(token)
        view.close()
        file.seek(0)
        shown = file.read()
    assert [shown.count(text) for text in ("Title", "bold words", "x = 1", "y = 2", "the end")] == [1] * 5
    assert "**" not in shown


def test_commands_of_the_graph_and_questions_are_not_ours() -> None:
    assert read_chat_command("/summary_now") is None
    assert read_chat_command("/SUMMARY") is None
    assert read_chat_command("what does /help do?") is None


class Terminal:
    """The command in a terminal of its own, and what it shows."""

    def __init__(self, environment: dict[str, str], *words: str) -> None:
        self.shown = ""
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.execve(EVERTHREAD, [EVERTHREAD, *words], {**environment, "TERM": "xterm", "COLUMNS": "80"})

    def press(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def wait_for(self, text: str, seconds: float = 60) -> None:
        begun, deadline = len(self.shown), time.monotonic() + seconds
        while text not in self.shown[begun:]:
            assert time.monotonic() < deadline, f"no {text!r} in {self.shown[begun:]!r}"
            if select.select([self._terminal], [], [], 0.2)[0]:
                new = os.read(self._terminal, 4096).decode(errors="replace")
                self.shown += new
                if "\x1b[6n" in new:  # where is the cursor?
                    self.press("\x1b[1;1R")


@pytest.mark.slow
def test_a_person_pastes_lines_clears_one_completes_a_command_and_leaves(environment: dict[str, str]) -> None:
    terminal = Terminal(environment, "chat", "--thread", "work")
    terminal.wait_for("/help shows the commands")
    time.sleep(0.5)
    terminal.press("\x1b[200~My dog is called Biscuit.\nMy cat is called Mia.\x1b[201~")
    time.sleep(0.5)
    terminal.press("\r")
    terminal.wait_for("not a language model")
    time.sleep(1)
    terminal.press("never said\x03")
    time.sleep(0.5)
    terminal.press("/history\r")
    terminal.wait_for("My cat is called Mia.")
    time.sleep(0.5)
    terminal.press("\x1b[A\x1b[A\x03\x04")
    assert os.waitpid(terminal.pid, 0)[1] == 0
    said = run(environment, "history", "work").stdout
    assert "user: My dog is called Biscuit.\nMy cat is called Mia.\n" in said
    assert "never said" not in said


@pytest.mark.slow
def test_what_cannot_be_opened_ends_the_prompt_that_stands_already(environment: dict[str, str]) -> None:
    environment["EVERTHREAD_DATABASE_URL"] = "postgresql://nobody@127.0.0.1:1/none"
    terminal = Terminal(environment, "chat")
    terminal.wait_for("/help shows the commands")
    terminal.wait_for("everthread: ")
    assert os.waitstatus_to_exitcode(os.waitpid(terminal.pid, 0)[1]) == 1
