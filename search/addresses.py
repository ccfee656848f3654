"""Which network addresses a page may be fetched from: public ones, and nothing that leads inside."""

from __future__ import annotations

import ipaddress
from typing import Final

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_KEPT_OUT: Final = tuple(
    ipaddress.ip_network(network)
    for network in (
        "100.64.0.0/10",  # shared by a provider's customers
        "192.0.0.0/24",  # protocols; a cloud's metadata
        "198.18.0.0/15",  # benchmarks
        "168.63.129.16/32",  # Azure's platform, a public address in every virtual machine
        "192.88.99.0/24",  # 6to4 relays
        "::/96",  # IPv4-compatible
        "::ffff:0:0/96",  # IPv4-mapped
        "::ffff:0:0:0/96",  # IPv4-translated
        "64:ff9b::/96",  # NAT64
        "64:ff9b:1::/48",  # NAT64 of one's own
        "100::/64",  # discard
        "2001::/23",  # Teredo, ORCHID and other protocols
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fc00::/7",  # unique local
        "fe80::/9",  # link-local and the old site-local
    )
)
"""Kept out beside what `ipaddress` knows to be private. Forms that carry an IPv4 address are kept out as a whole:
public servers have plain ones, too."""
_INSIDE: Final = (".localhost", ".local", ".localdomain", ".internal", ".intranet", ".lan", ".home", ".corp", ".onion")
"""Ends of names that only an inner name server resolves."""


def is_public(address: Address) -> bool:
    """Whether an address is one of the public internet: not private, loopback, link-local, multicast or reserved."""
    if not address.is_global or address.is_multicast or address.is_reserved or address.is_unspecified:
        return False
    return not any(address in network for network in _KEPT_OUT if network.version == address.version)


def is_outside_name(host: str) -> bool:
    """Whether a host's name may be looked up: a full name, or an address, and no name of an inner network."""
    name = host.rstrip(".").lower()
    if ":" in name:
        return True
    return "." in name and not name.endswith(_INSIDE) and not name.endswith(".arpa")
