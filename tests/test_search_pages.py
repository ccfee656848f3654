"""Fetching pages: limits of size, time, type and redirects hold; what is read takes the place of snippets."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator

import pytest
from fake_web import Reply, Server, running_server, search, without_variables
from web_pages import PAGE, brave_pages, on_loopback, read

from everthread.search.pages import PageReader
from everthread.state.errors import SearchError


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _no_proxy_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    without_variables(monkeypatch)


async def test_redirects_are_followed_a_few_times(server: Server) -> None:
    server.replies |= {
        "/a": [Reply("", 301, headers={"location": "/b"})],
        "/b": [Reply("", 307, headers={"location": f"{server.url}/page"})],
        "/page": [Reply(PAGE)],
        "/loop": [Reply("", 302, headers={"location": "/loop"})],
    }
    assert (await read(f"{server.url}/a")).text.startswith("Ants")
    with pytest.raises(SearchError, match="redirects more than 4 times"):
        await read(f"{server.url}/loop")
    assert sum(path == "/loop" for path, _, _ in server.asked) == 5


async def test_a_page_is_read_without_what_surrounds_and_hides_in_it(server: Server) -> None:
    server.replies["/page"] = [Reply(PAGE)]
    page = await read(f"{server.url}/page")
    assert "Ants of hill 8 carry leaves" in page.text
    for unwanted in ("Shop now", "Cookies", "Ignore all"):
        assert unwanted not in page.text
    assert (page.title, page.published) == ("Ants", "2026-02-03")
    (_, headers, _) = server.asked[0]
    assert not {"cookie", "referer", "authorization"} & set(headers)


def packed(body: bytes, how: str) -> bytes:
    if how == "gzip":
        return gzip.compress(body)
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return zlib.compress(body) if how == "deflate" else raw.compress(body) + raw.flush()


@pytest.mark.parametrize("how", ["gzip", "deflate", "raw deflate"])
async def test_packed_pages_are_unpacked(server: Server, how: str) -> None:
    headers = {"content-encoding": how.removeprefix("raw ")}
    server.replies["/page"] = [Reply(packed(PAGE.encode(), how), headers=headers)]
    assert "Ants of hill 8" in (await read(f"{server.url}/page")).text


@pytest.mark.parametrize("how", ["gzip", "deflate"])
async def test_a_zip_bomb_does_not_go_off(server: Server, how: str) -> None:
    bomb = packed(b"<p>" + b" " * 60_000_000, how)
    assert len(bomb) < 100_000
    server.replies["/page"] = [Reply(bomb, headers={"content-encoding": how})]
    with pytest.raises(SearchError, match="too large when it is unpacked"):
        await read(f"{server.url}/page")


async def test_broken_and_unknown_packing_is_refused(server: Server) -> None:
    server.replies["/broken"] = [Reply(b"\x1f\x8bnothing", headers={"content-encoding": "gzip"})]
    server.replies["/other"] = [Reply(b"x", headers={"content-encoding": "br"})]
    with pytest.raises(SearchError, match="packing is broken"):
        await read(f"{server.url}/broken")
    with pytest.raises(SearchError, match="unknown way"):
        await read(f"{server.url}/other")


async def test_of_a_page_of_50_megabytes_the_start_is_read(server: Server) -> None:
    more = "<p>" + "More of it. " * 80_000
    body = PAGE.replace("</article>", "").encode()
    server.replies["/huge"] = [Reply(body + more.encode(), length=50_000_000, repeat=50)]
    page = await read(f"{server.url}/huge", on_loopback(size=200_000))
    assert "Ants of hill 8" in page.text
    assert len(page.text) < 250_000


@pytest.mark.parametrize("kind", ["application/pdf", "image/png", "application/octet-stream", "application/json"])
async def test_other_types_are_not_read(server: Server, kind: str) -> None:
    server.replies["/page"] = [Reply(b"%PDF", kind=kind)]
    with pytest.raises(SearchError, match="neither HTML nor plain text"):
        await read(f"{server.url}/page")


async def test_plain_text_is_taken_as_it_is(server: Server) -> None:
    server.replies["/page"] = [Reply("a < b\nline", kind="text/plain")]
    assert (await read(f"{server.url}/page")).text == "a < b\nline"


@pytest.mark.parametrize(("status", "kind"), [(404, "refused"), (403, "refused"), (429, "rate limit"), (503, "server")])
async def test_a_page_that_is_refused_says_so(server: Server, status: int, kind: str) -> None:
    server.replies["/page"] = [Reply(PAGE, status)]
    with pytest.raises(SearchError, match=f"HTTP {status}") as caught:
        await read(f"{server.url}/page")
    assert caught.value.kind == kind


async def test_a_slow_page_is_given_up(server: Server) -> None:
    server.replies["/page"] = [Reply(PAGE, seconds=2)]
    async with PageReader(on_loopback()) as pages:
        with pytest.raises(SearchError, match="the page did not answer in time"):
            await pages.read(f"{server.url}/page", 0.2)


async def test_pages_are_not_fetched_unless_the_setting_says_so(server: Server) -> None:
    brave_pages(server, "/page")
    server.replies["/page"] = [Reply(PAGE)]
    outcome = await search(server, search_engines=("brave",))
    assert [result.content for result in outcome.results] == ["snippet of /page"]
    assert [path for path, _, _ in server.asked] == ["/res/v1/web/search"]


async def test_where_a_page_cannot_be_read_its_snippet_stays(server: Server) -> None:
    brave_pages(server, "/page", "/gone")
    server.replies["/page"] = [Reply(PAGE)]
    pages = PageReader(on_loopback())
    outcome = await search(server, "hill 8", search_engines=("brave",), fetch_pages=True, pages=pages)
    first, second = outcome.results
    assert "Ants of hill 8 carry leaves" in first.content
    assert (first.whole, first.published) == (True, "2026-02-03")
    assert (second.whole, second.content) == (False, "snippet of /gone")
    assert [(failure.engine, failure.kind) for failure in outcome.failures] == [("page", "refused")]


async def test_long_pages_are_trimmed_to_the_budget(server: Server) -> None:
    brave_pages(server, "/page")
    many = "".join(f"<p>Sentence {n} tells of tea and gardens in the north of the country.</p>" for n in range(2000))
    server.replies["/page"] = [Reply(PAGE.replace("<h1>Ants</h1>", f"<h1>Ants</h1>{many}"))]
    outcome = await search(
        server, "ants of hill 8", search_engines=("brave",), fetch_pages=True, pages=PageReader(on_loopback()),
        max_search_tokens=200, timeouts={"search": 60},
    )  # fmt: skip
    (result,) = outcome.results
    assert "Ants of hill 8" in result.content
    assert len(result.content) < 1500
