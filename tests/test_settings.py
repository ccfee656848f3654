"""Settings: where values come from, which wins, and what a wrong one is told."""

from __future__ import annotations

import re
from typing import Any

import pytest
from conversation import say

from everthread import PROFILES, Settings, SettingsError, build_graph, open_graph
from everthread.graph.conversation import CompiledConversation
from everthread.settings.operator import OperatorSettings
from everthread.settings.run import RunSettings
from everthread.settings.run_context import RunContext


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


def test_a_run_cannot_change_what_is_the_operators() -> None:
    base = Settings(database_schema="ours")
    with pytest.raises(SettingsError, match="'database_schema' is the operator's, and not for a run to choose"):
        Settings(database_schema="theirs", n_sum=7).over(base)
    assert Settings(database_schema="ours", n_sum=7).over(base).n_sum == 7


@pytest.mark.parametrize(
    ("context", "sentence"),
    [
        ({"database_url": "sqlite"}, "Setting 'database_url' is the operator's, and not for a run to choose: set it"),
        ({"timeouts": {"model": 1}}, "Setting 'timeouts' is the operator's"),
        ({"n_sun": 6}, "Unknown setting 'n_sun'. Did you mean 'n_sum'?"),
        ({"tavily_api_key": "tvly-1"}, "Unknown setting 'tavily_api_key'."),
        ({"archive": {"n_sum": 4}}, "'n_sum' is no threshold of the profile 'archive'. Known are: summary_window"),
        ({"archive": {"summary_every_n": 0}}, "Setting 'summary_every_n' cannot be 0"),
        ({"archive": 5}, "'archive' cannot be 5: expected a mapping of thresholds"),
        ({"profile": "archive", "archive": {"max_level_summaries": 11}}, "These settings do not agree"),
        (
            {"sum_window": 9},
            "These settings do not agree: sum_window is 9 but must not be larger than n_sum, which is 6",
        ),
    ],
)
async def test_a_context_that_is_not_for_a_run_is_refused_in_one_sentence(
    graph: CompiledConversation, context: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        await say(graph, "hello", **context)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_a_context_is_held_against_the_base_and_not_against_the_defaults() -> None:
    assert RunContext(sum_window=9).over(Settings(n_sum=20)).sum_window == 9


@pytest.mark.parametrize(
    ("context", "base", "expected"),
    [
        ({"profile": "archive", "archive": {"summary_every_n": 5}}, {}, 5),
        ({"archive": {"summary_every_n": 5}}, {"profile": "archive"}, 5),
        ({"archive": {"summary_every_n": 5}}, {"profile": "archive", "summary_every_n": 20}, 5),
        ({"archive": {"summary_every_n": 5}, "summary_every_n": 6}, {"profile": "archive"}, 6),
        ({"archive": {"summary_every_n": None}}, {"profile": "archive"}, 10),
        ({"archive": {"summary_every_n": 5}}, {}, 10),
        ({"profile": "hybrid", "archive": {"summary_every_n": 5}}, {}, 10),
    ],
)
def test_thresholds_in_the_group_of_their_profile_count_where_it_is_chosen(
    context: dict[str, Any], base: dict[str, Any], expected: int
) -> None:
    assert RunContext(**context).over(Settings(**base)).summary_every_n == expected


def test_the_form_holds_what_a_run_may_choose_with_titles_and_groups() -> None:
    form = build_graph().compile().get_context_jsonschema()
    assert form is not None
    fields = form["properties"]
    thresholds = {name for profile in PROFILES for name in fields[profile]["properties"]}
    assert {*fields} - {*PROFILES} | thresholds == {*RunSettings.model_fields}
    assert not {*fields} & {*OperatorSettings.model_fields, *thresholds}
    nested = [item for profile in PROFILES for item in fields[profile]["properties"].items()]
    for name, field in [*fields.items(), *nested]:
        assert field["title"], name
        assert "_" not in name or field["title"] != name.replace("_", " ").title(), name
        assert field["description"], name
        assert "$ref" not in str(field), name
    assert len({field["x-group"] for name, field in fields.items() if name not in PROFILES}) == 8
    assert fields["similarity_threshold"]["maximum"] == 1.0
    assert fields["web_search"]["enum"] == ["auto", "always", "off"]
    assert fields["model"]["type"] == "string"
    assert fields["budgets"]["properties"]["recent"]["type"] == "number"


def test_a_form_shows_each_profile_its_own_thresholds_with_its_own_defaults() -> None:
    fields = RunContext.model_json_schema()["properties"]
    shown = {
        profile: {name: field["default"] for name, field in fields[profile]["properties"].items()}
        for profile in PROFILES
    }
    window = {"summary_window": "last"}
    assert shown == {
        "multi_strategy": {"n_sum": 6, "sum_window": 3, "n_sum_sum": 3, "max_sum_lvl": 3, **window},
        "sliding_summary": {
            "message_threshold": 20, "token_threshold": 8000, "keep_recent": 10, **window,
        },
        "hybrid": {"message_threshold": 15, "keep_recent": 8, "max_active_summaries": 3, **window},
        "archive": {"summary_every_n": 10, "max_level_summaries": 5, "max_active_summaries": 10, **window},
        "layered": {"n_sum_sum": 3, "message_threshold": 8, "keep_recent": 6, "token_threshold": 1500, **window},
    }  # fmt: skip


@pytest.mark.parametrize("profile", PROFILES)
def test_a_form_that_sends_back_all_that_it_shows_changes_nothing(profile: Any) -> None:
    fields = RunContext.model_json_schema()["properties"]
    sent = {name: field["default"] for name, field in fields.items() if "default" in field}
    sent |= {p: {name: f["default"] for name, f in fields[p]["properties"].items()} for p in PROFILES}
    chosen = RunContext(**{**sent, "profile": profile}).over(Settings())
    assert chosen.model_dump() == Settings(profile=profile).model_dump()


def test_there_are_at_most_sixty_settings_each_a_runs_or_the_operators() -> None:
    assert not RunSettings.model_fields.keys() & OperatorSettings.model_fields.keys()
    assert RunSettings.model_fields.keys() | OperatorSettings.model_fields.keys() == Settings.model_fields.keys()
    assert len(Settings.model_fields) <= 60


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
