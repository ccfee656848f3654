"""What a client of a server may choose for a run."""

from __future__ import annotations

from typing import Any

import pytest

from everthread import PROFILES, Settings, SettingsError
from everthread.settings.client import client_context, client_form


@pytest.mark.parametrize(
    ("given", "operator", "sentence"),
    [
        ({"database_url": "sqlite"}, {}, "Setting 'database_url' is the operator's"),
        ({"timeouts": {"model": 1}}, {}, "Setting 'timeouts' is the operator's"),
        ({"everthread": {"visible_messages": 9}}, {}, "Setting 'visible_messages' is the operator's"),
        ({"n_sun": 6}, {}, "Unknown setting 'n_sun'. Did you mean 'n_sum'?"),
        ({"max_memorys": 1}, {}, "Unknown setting 'max_memorys'. Did you mean 'max_memories'?"),
        ({"model": "huggingface:a/b"}, {}, "Setting 'model' is not for clients to choose: the operator allows it in "),
        ({"everthread": {"model": "huggingface:a/b"}}, {}, "Setting 'model' is not for clients"),
        ({"everthread": 5}, {}, "What stands under 'everthread' in the context is no mapping"),
        ({"system_prompt": "Obey."}, {}, "Setting 'system_prompt' is not for clients"),
        ({"redact_queries": False}, {}, "Setting 'redact_queries' is not for clients"),
        ({"max_reply_tokens": 16}, {}, "Setting 'max_reply_tokens' is not for clients"),
        ({"profile": "archive"}, {"client_settings": "user_id"}, "Setting 'profile' is not for clients"),
        ({"max_memories": 61}, {}, "Setting 'max_memories' cannot be 61: the operator's limit is 60."),
        ({"max_tool_rounds": 1000}, {"client_settings": "all"}, "Setting 'max_tool_rounds' cannot be 1000"),
        ({"max_context_tokens": 9000}, {"profile": "archive"}, "Setting 'max_context_tokens' cannot be 9000"),
        ({"profile": "archive", "max_context_tokens": 8000}, {"profile": "hybrid"}, "Setting 'max_context_tokens' "),
        ({"web_search": "always"}, {"web_search": "off"}, "Setting 'web_search' cannot be 'always'"),
        ({"facts": True}, {"facts": False}, "Setting 'facts' cannot be True: the operator's limit is False."),
    ],
)
def test_what_is_not_for_a_client_is_refused_in_one_sentence(
    given: dict[str, Any], operator: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        client_context(given, Settings(**operator))
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "operator"),
    [
        ({"max_memories": 2, "max_context_tokens": 4000}, {}),
        ({"max_memories": 80}, {"max_memories": 100}),
        ({"web_search": "always"}, {}),
        ({"profile": "sliding_summary", "summary_length": 400}, {}),  # the profile's own length
        ({"model": "offline"}, {"client_settings": "safe,model"}),
        ({"system_prompt": "Be brief.", "fetch_pages": True}, {"client_settings": "all"}),
        ({"n_sum": 4}, {}),
    ],
)
def test_what_is_allowed_counts(given: dict[str, Any], operator: dict[str, Any]) -> None:
    base = Settings(**operator)
    run = client_context(given, base).over(base)
    assert {name: getattr(run, name) for name in given} == given


def test_another_profile_brings_no_larger_budget() -> None:
    base = Settings(profile="hybrid")
    run = client_context({"profile": "archive"}, base).over(base)
    assert (run.profile, run.max_context_tokens) == ("archive", base.max_context_tokens)
    smaller = client_context({"profile": "archive", "max_context_tokens": 2000}, base).over(base)
    assert smaller.max_context_tokens == 2000


def test_keys_of_the_server_and_of_other_applications_are_left_out() -> None:
    given = {"thread_id": "t", "langgraph_request_id": 1, "__context_provided__": True, "tenant": "x", "n_sum": 4}
    assert client_context(given, Settings()).chosen == {"n_sum": 4}


def test_the_form_shows_what_a_client_may_choose_and_the_limits_and_defaults_of_the_operator() -> None:
    form = client_form(Settings(max_memories=9, user_id="ada", client_settings="safe,system_prompt", system_prompt="x"))
    fields = form["properties"]
    assert not {"model", "search_engines", "redact_queries", "database_url", "n_sum"} & {*fields}
    assert {"user_id", "profile", "max_memories", "system_prompt", *PROFILES} <= {*fields}
    assert (fields["max_memories"]["default"], fields["max_memories"]["maximum"]) == (9, 9)
    assert fields["max_results"]["maximum"] == 3
    assert "default" not in fields["user_id"], "whose memory it is without a user is nobody's to read"
    assert "default" not in fields["system_prompt"]
    assert [*client_form(Settings(client_settings="profile,n_sum"))["properties"]] == ["profile", "multi_strategy"]


def test_a_name_that_is_no_setting_cannot_be_allowed() -> None:
    with pytest.raises(SettingsError, match="client_settings names 'modl', which is no setting that a run may choose"):
        Settings(client_settings="safe,modl")
