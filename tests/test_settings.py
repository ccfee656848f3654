"""Settings: where values come from, which wins, and what a wrong one is told."""

from __future__ import annotations

import re
from typing import Any

import pytest
from conversation import say

from everthread import PROFILES, Settings, SettingsError, build_graph, open_graph
from everthread.graph.conversation import CompiledConversation


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"n_sum": "six"}, "Setting 'n_sum' cannot be 'six': input should be a valid integer"),
        ({"n_sum": 0}, "Setting 'n_sum' cannot be 0: input should be greater than or equal to 2"),
        (
            {"similarity_threshold": 1.5},
            "Setting 'similarity_threshold' cannot be 1.5: input should be less than or equal to 1",
        ),
        ({"web_search": "maybe"}, "Setting 'web_search' cannot be 'maybe': input should be 'auto', 'always' or 'off'"),
        ({"profile": "nice"}, "Setting 'profile' cannot be 'nice': input should be 'multi_strategy'"),
        ({"n_sun": 6}, "Unknown setting 'n_sun'. Did you mean 'n_sum'?"),
        ({"budgets": {"sytem": 0.1}}, "Unknown part 'sytem' of 'budgets'. Did you mean 'system'?"),
        ({"budgets": "system=some"}, "Setting 'budgets.system' cannot be 'some': input should be a valid number"),
        ({"budgets": "recent=-1"}, "Setting 'budgets.recent' cannot be '-1': input should be greater than or equal to"),
        (
            {"sum_window": 9},
            "These settings do not agree: sum_window is 9 but must not be larger than n_sum, which is 6.",
        ),
        ({"user_id": ""}, "Setting 'user_id' cannot be '': string should have at least 1 character"),
        ({"database_url": 5}, "Setting 'database_url' cannot be the given value: input should be a valid string"),
    ],
)
def test_a_wrong_value_gets_one_sentence_with_name_value_and_what_is_allowed(
    values: dict[str, object], sentence: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings(**values)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


async def test_a_wrong_value_in_the_context_of_a_run_gets_the_same_sentence(graph: CompiledConversation) -> None:
    with pytest.raises(SettingsError, match="Setting 'max_memories' cannot be -1"):
        await say(graph, "hello", max_memories=-1)


def test_the_environment_sets_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERTHREAD_N_SUM", "12")
    monkeypatch.setenv("EVERTHREAD_SEARCH_ENGINES", "duckduckgo, tavily")
    monkeypatch.setenv("EVERTHREAD_MODEL", "")
    settings = Settings()
    assert settings.n_sum == 12
    assert settings.search_engines == ("duckduckgo", "tavily")
    assert settings.model is None


def test_a_wrong_environment_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERTHREAD_N_SUM", "many")
    with pytest.raises(SettingsError, match="EVERTHREAD_N_SUM"):
        Settings()


def test_the_run_wins_over_the_base_and_the_base_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERTHREAD_N_SUM", "12")
    monkeypatch.setenv("EVERTHREAD_MAX_MEMORIES", "9")
    base = Settings(n_sum=8)
    assert base.n_sum == 8
    assert Settings(max_memories=2).over(base).n_sum == 8
    assert Settings(max_memories=2).over(base).max_memories == 2
    assert Settings(user_id="ada").over(base).max_memories == 9
    assert Settings(n_sum=10).over(base).n_sum == 10


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("base", PROFILES)
def test_a_run_under_another_profile_has_all_of_that_profile_and_what_was_set_by_name(base: Any, profile: Any) -> None:
    assert Settings(profile=profile).over(Settings(profile=base)) == Settings(profile=profile)
    assert Settings(profile=profile).over(Settings(profile=base, n_sum=9)) == Settings(profile=profile, n_sum=9)


def test_a_run_cannot_change_what_belongs_to_the_process() -> None:
    base = Settings(database_schema="ours")
    assert Settings(database_schema="theirs", n_sum=7).over(base).database_schema == "ours"


def test_the_seeds_defaults_hold() -> None:
    """Seed 000, "Configuration Parameters" of the three strategies."""
    settings = Settings()
    assert (settings.max_results, settings.similarity_threshold) == (3, 0.7)
    assert (settings.n_sum, settings.sum_window, settings.n_sum_sum, settings.max_sum_lvl) == (6, 3, 3, 3)
    assert settings.profile in PROFILES


def test_secrets_are_not_shown() -> None:
    assert "hunter2" not in repr(Settings(database_url="postgresql://me:hunter2@db/x"))


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://me:hunter2@db/x", "database_url begins with 'mysql://': expected postgresql://"),
        ("postgresql+psycopg://me:hunter2@db/x", "database_url begins with 'postgresql+psycopg://'"),
        ("me:hunter2@db/x", "database_url is no URL: expected postgresql://"),
    ],
)
def test_a_url_of_no_database_that_we_know_gets_one_sentence_without_the_password(url: str, said: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(said)) as caught:
        Settings(database_url=url)
    assert "hunter2" not in str(caught.value)


def test_a_server_may_be_named_in_each_way_that_postgres_reads() -> None:
    for url in ("postgres://db/x", "PostgreSQL://db/x", "host=db dbname=x password=a://b"):
        assert Settings(database_url=url).storage_kind == "postgres"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"model": "openai:gpt-5-mini"},
            r"A str is no chat model: .*; name it in the settings: Settings\(model='openai",
        ),
        ({"model": lambda _: "hi"}, "A function is no chat model: .* is given as `responder`"),
        ({"fallbacks": ["offline"]}, "A str is no chat model"),
        ({"settings": {"user_id": "ada"}}, "A dict is no settings: give Settings"),
    ],
)
def test_what_is_no_model_and_no_settings_gets_one_sentence(given: Any, said: str) -> None:
    for opened in (open_graph, build_graph):
        with pytest.raises(SettingsError, match=said):
            opened(**given)
