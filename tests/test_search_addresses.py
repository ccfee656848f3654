"""Only public addresses are ever connected to: checked after the lookup, on every redirect, and pinned."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

import pytest
from fake_web import Reply, Server, running_server, search, without_variables
from web_pages import PAGE, Recorder, brave_pages, on_loopback, read

from everthread.search.addresses import is_outside_name, is_public
from everthread.search.connection import GuardedBackend
from everthread.search.pages import Limits, PageReader
from everthread.state.errors import SearchError


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _no_proxy_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    without_variables(monkeypatch)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "100.100.100.200", "168.63.129.16", "192.0.0.192", "192.0.2.1", "198.18.0.1", "224.0.0.1", "239.1.1.1",
        "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1",
        "ff02::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::7f00:1", "64:ff9b::7f00:1", "64:ff9b::808:808",
        "64:ff9b:1::1", "2002:7f00:1::", "2001:0:7f00:1::", "2001:db8::1", "::ffff:0:127.0.0.1", "100::1",
    ],
)  # fmt: skip
def test_inner_and_special_addresses_are_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.215.14", "1.1.1.1", "2606:4700::1111", "2a00:1450:4001::200e"])
def test_addresses_of_the_internet_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


def test_names_of_inner_networks_are_not_looked_up() -> None:
    for name in ("localhost", "intranet", "a.local", "metadata.google.internal", "x.lan", "1.0.0.127.in-addr.arpa", ""):
        assert not is_outside_name(name), name
    for name in ("example.org", "example.org.", "münchen.de", "8.8.8.8", "2606:4700::1111"):
        assert is_outside_name(name), name


FORBIDDEN = [
    "http://127.0.0.1/", "http://localhost/", "http://[::1]/", "http://169.254.169.254/latest/meta-data/",
    "http://10.0.0.1/", "http://[::ffff:127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "http://[fe80::1%25eth0]/",
    "http://0/", "http://2130706433/", "http://0x7f000001/", "http://0177.0.0.1/", "http://127.1/",
    "http://metadata.google.internal/", "http://user:pw@example.org/", "http://example.org:22/", "ftp://example.org/",
    "file:///etc/passwd", "gopher://example.org/", "javascript:1", "http://", "//example.org/", "http://[bad",
    "http://example.org:99999/",
]  # fmt: skip


@pytest.mark.parametrize("url", FORBIDDEN)
async def test_nothing_connects_to_a_forbidden_address(url: str) -> None:
    network = Recorder()

    async def resolver(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    with pytest.raises(SearchError) as caught:
        await read(url, Limits(), GuardedBackend(resolver=resolver, network=network))
    assert caught.value.kind == "refused"
    assert network.asked == []


@pytest.mark.parametrize("found", [["10.0.0.7"], ["93.184.215.14", "127.0.0.1"], ["fe80::1%2"], ["no address"], []])
async def test_a_name_with_an_inner_address_is_refused_after_its_lookup(found: list[str]) -> None:
    network = Recorder()

    async def resolver(host: str, port: int) -> list[str]:
        return found

    with pytest.raises(SearchError, match="not at a public address"):
        await read("https://rebind.example/", Limits(), GuardedBackend(resolver=resolver, network=network))
    assert network.asked == []


async def test_the_address_that_was_checked_is_the_one_connected_to() -> None:
    """DNS rebinding: the second lookup would give an inner address, so there must be none."""
    network = Recorder()
    lookups: list[str] = []

    async def resolver(host: str, port: int) -> list[str]:
        lookups.append(host)
        return ["93.184.215.14"] if len(lookups) == 1 else ["127.0.0.1"]

    with pytest.raises(SearchError, match="cannot be reached"):
        await read("https://rebind.example/", Limits(), GuardedBackend(resolver=resolver, network=network))
    assert lookups == ["rebind.example"]
    assert network.asked == [("93.184.215.14", 443)]
    assert network.names == ["rebind.example"], "the certificate is checked against the name"


@pytest.mark.parametrize("target", FORBIDDEN[2:8] + FORBIDDEN[14:18] + ["http://10.1.2.3:8080/admin"])
async def test_redirects_are_checked_like_any_address(server: Server, target: str) -> None:
    network = Recorder(connects=True)
    server.replies["/page"] = [Reply("", 302, headers={"location": target})]
    limits = on_loopback(
        ports=frozenset({80, 443, server.server_address[1]}),
        allows=lambda address: str(address) == "127.0.0.1" or is_public(address),
    )
    with pytest.raises(SearchError) as caught:
        await read(f"{server.url}/page", limits, GuardedBackend(limits.allows, network=network))
    assert caught.value.kind == "refused"
    assert network.asked == [("127.0.0.1", server.server_address[1])]


async def test_found_pages_on_inner_addresses_are_never_connected_to(server: Server) -> None:
    network = Recorder()
    brave_pages(server, "/page")
    server.replies["/page"] = [Reply(PAGE)]
    pages = PageReader(Limits(ports=None), GuardedBackend(network=network))
    outcome = await search(server, search_engines=("brave",), fetch_pages=True, pages=pages)
    assert network.asked == []
    assert [result.content for result in outcome.results] == ["snippet of /page"]
    assert outcome.failures[0].problem == "the page is not at a public address"
