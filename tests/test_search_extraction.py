"""Pages to text: encodings, main text, and the figures on the evaluation set where it is there."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.search.decoding import decode
from everthread.search.extraction import read_page

TEXTS = {
    "windows-1252": "Café naïve — déjà vu, “crème brûlée” and more words in English around it. ",
    "iso-8859-9": "Bu Türkçe bir metin; şeker, çay ve ığdır güzeldir. ",
    "windows-1251": "Это простой русский текст о погоде и людях в городе. ",
    "koi8-r": "Это простой русский текст о погоде и людях в городе. ",
    "shift_jis": "これは日本語のテキストです。天気がいいですね。",
    "euc-jp": "これは日本語のテキストです。天気がいいですね。",
    "iso-2022-jp": "これは日本語のテキストです。天気がいいですね。",
    "gb18030": "这是一个简单的中文文本，讨论天气和人们的生活。",
    "big5": "這是一個簡單的中文文本，討論天氣和人們的生活。",
    "euc-kr": "이것은 한국어 텍스트입니다. 오늘은 날씨가 좋습니다.",
    "windows-1256": "هذا نص عربي بسيط عن الطقس والناس في المدينة. ",
    "windows-1255": "זהו טקסט פשוט בעברית על מזג האוויר. ",
    "utf-8": "Ünïcödé 中文 العربية ",
}


@pytest.mark.parametrize("encoding", TEXTS)
def test_the_header_names_the_encoding(encoding: str) -> None:
    assert decode(f"<p>{TEXTS[encoding]}".encode(encoding), encoding) == f"<p>{TEXTS[encoding]}"


@pytest.mark.parametrize("encoding", TEXTS)
def test_the_page_names_the_encoding(encoding: str) -> None:
    for meta in (f'<meta charset="{encoding}">', f"<meta http-equiv=x content='text/html; charset={encoding}'>"):
        assert decode(f"<html>{meta}<p>{TEXTS[encoding]}".encode(encoding)).endswith(TEXTS[encoding])


@pytest.mark.parametrize("encoding", ["windows-1251", "shift_jis", "gb18030", "euc-kr", "utf-8"])
def test_nobody_names_the_encoding(encoding: str) -> None:
    assert TEXTS[encoding] in decode((f"<p>{TEXTS[encoding]}" * 20).encode(encoding))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_wins(encoding: str) -> None:
    assert decode("<p>é中".encode(encoding), "iso-8859-1") == "<p>é中"


def test_a_wrong_name_does_not_spoil_a_page() -> None:
    assert decode("<p>Café — 中文".encode(), "iso-8859-1") == "<p>Café — 中文"
    assert decode(("<p>" + TEXTS["windows-1251"] * 5).encode("windows-1251"), "utf-8").endswith("городе. ")
    assert decode("<p>Café".encode("latin-1"), "no-such-encoding").startswith("<p>Caf")


def test_browsers_names_are_understood() -> None:
    assert decode("“quoted”".encode("windows-1252"), "ISO-8859-1") == "“quoted”"
    assert decode("€".encode("gb18030"), "gb2312") == "€"


def test_a_page_cut_in_the_middle_of_a_character_is_read() -> None:
    assert decode("<p>中文".encode()[:-1]) == "<p>中"


@given(st.binary(max_size=400), st.sampled_from([None, "utf-8", "utf-16", "gbk", "x", ""]))
def test_any_bytes_become_text(body: bytes, charset: str | None) -> None:
    assert isinstance(decode(body, charset), str)


SENTENCE = "<p>This is sentence {n} of the text that people came to read on this page.</p>"
BODY = "".join(SENTENCE.format(n=n) for n in range(8))


@pytest.mark.parametrize(
    "hiding",
    [
        "<p style='display: none'>HIDDEN</p>", "<div hidden>HIDDEN</div>",
        "<span style='visibility:hidden'>HIDDEN</span>",
        "<p style='font-size:0'>HIDDEN</p>", "<p style='opacity:0;'>HIDDEN</p>", "<script>HIDDEN</script>",
        "<style>HIDDEN</style>", "<!-- HIDDEN -->", "<template><p>HIDDEN</p></template>",
        "<p style='position:absolute;left:-9999px'>HIDDEN</p>",
    ],
)  # fmt: skip
def test_what_readers_do_not_see_is_not_read(hiding: str) -> None:
    page = read_page(f"<html><body><article>{hiding}{BODY}</article></body></html>")
    assert "sentence 7" in page.text
    assert "HIDDEN" not in page.text


def test_a_page_whose_body_stands_in_noscript_is_read() -> None:
    assert "sentence 7" in read_page(f"<html><body><noscript><article>{BODY}</article></noscript></body></html>").text


@pytest.mark.parametrize("markup", ["", "<", "<html>", "no markup", "<p>" * 5000, "\x00\ud800<p>", "<!--" * 1000])
def test_broken_pages_fail_nothing(markup: str) -> None:
    assert isinstance(read_page(markup).text, str)


@pytest.mark.parametrize("part", ["<br>", "<a>", "<p>x</p>", "<div><a href='x'>y</a></div>"])
@pytest.mark.slow
def test_a_page_of_endless_elements_cannot_keep_the_processor_busy(part: str) -> None:
    markup = f"<html><body>{BODY}{part * (1_500_000 // len(part))}"
    started = time.process_time()
    read_page(markup)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "markup",
    [
        "<p " + " ".join(f"a{n}=1" for n in range(150_000)) + ">",
        '<p x" ' + " ".join(f"a{n}=1" for n in range(150_000)) + ' y">',
        "<p " + "/".join(f"a{n}" for n in range(150_000)) + ">",
        ("<p " + " ".join(f"a{n}=1" for n in range(990)) + ">") * 150,
        '<p "' * 300_000,
        "<br>" * 375_000,
    ],
    ids=["attributes", "in quotes", "slashes", "many tags", "open quotes", "elements"],
)
def test_a_page_of_markup_alone_takes_little_time(markup: str) -> None:
    """150,000 attributes of one tag took minutes."""
    started = time.process_time()
    read_page(f"<html><body><p>A text.</p>{markup}hello</body>")
    assert time.process_time() - started < 5
