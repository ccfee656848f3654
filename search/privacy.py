"""What is taken out of a query before it leaves: what tells who the user is, or where, or how to be reached.

A query is not made anonymous by this: it still tells what is asked. It is what the seed calls "anonymized external
search queries when possible" (`000`, "Security and Privacy").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import regex

from ..text.scripts import PAIRED
from ..text.terms import search_terms
from .postal import postal

_EMAIL: Final = regex.compile(
    r"(?<![\p{L}\p{N}._%+'-])[\p{L}\p{N}._%+'-]{1,64}+\s?(?:@|[(\[]\s?(?:at|@)\s?[)\]])\s?[\p{L}\p{N}-]{1,63}+"
    r"(?:(?:\.|\s?[(\[]\s?(?:dot|punkt|\.)\s?[)\]]\s?)[\p{L}\p{N}-]+)*(?:\.|\s?[(\[]\s?(?:dot|punkt|\.)\s?[)\]]\s?)\p{L}{2,}"
)
# Where these begin and end is written in ASCII: in a script without spaces, a letter stands right beside them.
_CARD: Final = re.compile(r"(?<![A-Za-z0-9_.-])\d(?:[ -]?\d){12,18}(?![A-Za-z0-9_-])")
_IBAN: Final = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z]{2}\d{2}(?:[ -]?[A-Za-z0-9]){11,38}(?![A-Za-z0-9_])")
_NATIONAL_ID: Final = re.compile(
    r"(?<![A-Za-z0-9_-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![A-Za-z0-9_-])", re.ASCII
)
"""A social security number of the United States: of areas, groups and serials that are given out."""
_SECRET: Final = re.compile(
    r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_]?[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|\bAKIA[0-9A-Z]{16}\b"
    r"|\bxox[abprs]-[A-Za-z0-9-]{10,}|\beyJ[\w-]{10,}\.[\w-]{10,}(?:\.[\w-]*)?|\bAIza[\w-]{30,}"
    r"|(?<=://)[^\s/@:]+:[^\s/@]+@"
    r"|(?i:(?<![a-z])(?:access_?|auth_?|client_?|session_?|id_?)?(?:token|secret|api[_-]?key|password|passwd|pwd|sig|signature)="
    r"[^\s&#]{4,})|(?i:(?<=\bpassword\sis\s)|(?<=\bpassword:\s)|(?<=\bpasswort:\s))\S+",
    re.ASCII,
)
_UNSEEN: Final = re.compile("[\u00ad\u200b\u2060\ufeff]")
_REGIONS: Final = (None, "US", "GB", "DE", "FR", "ES", "BR", "IT", "TR", "RU", "IN", "CN", "JP", "AE", "KR", "NL", "MX")
"""Countries whose ways of writing a number at home are known; with a + all are."""
_MIN_DIGITS: Final = 7
_NO_PHONE: Final = re.compile(r"\d{1,3}(?:[ ,.\u00a0\u202f]\d{3})+|(?:19|20)\d\d[ -].*")
"""Large numbers in groups of three, and what begins with a year."""

_FEW_WORDS: Final = 4
"""A private text of up to this many words is a value, taken out wherever it stands; a longer one is a statement."""
_COVERED: Final = 0.6
"""The share of a clause's terms that a known fact must hold for the clause to tell it."""
_CLAUSE: Final = regex.compile(
    r"[.!?;,。！？；，،؟\n]+|\s[–—-]\s|\b(?:and|but|because|so|und|aber|weil|et|mais|y|pero|e|ma)\b"
)
_SELF: Final = regex.compile(
    r"(?i)\b(?:i|i'm|i've|my|mine|me|we|our|the user|ich|mir|mich|mein\w*|wir|unser\w*"
    r"|je|j'|moi|mon|ma|mes|nous|notre|yo|mi|mis|me"
    r"|soy|tengo|vivo|eu|meu|minha|sou|tenho|moro|io|mio|mia|sono|ho|ben|benim|я|мой|моя|моё|мне|меня|у меня)\b"
    r"|我|私|僕|俺|나는|내|أنا|لدي|मैं|मेरा|मेरी|मुझे"
)
_NAMING: Final = regex.compile(
    r"(?i:\b(?:name is|names are|named|called|heißt|heißen|namens|name ist|s'appelle|appelle|nom est|llama|llamo"
    r"|nombre es|chama|chamo|nome è|chiama|chiamo|adı|ismi|зовут|имя)\s+)"
    r"(?P<name>\p{Lu}[\p{L}\p{M}'’-]*(?:\s+\p{Lu}[\p{L}\p{M}'’-]*){0,3})"
)
_IDENTIFIER: Final = regex.compile(r"\b(?=[\p{L}\d-]*\d)[\p{L}\d]+(?:[-/.][\p{L}\d]+)*\b")
_LOOSE_ENDS: Final = regex.compile(
    r"\(\s*\)|\[\s*\]|[\"'“”„«»]\s*[\"'“”„«»]|\s+(?=[,.;:!?。，！？])|(?<=^|[,;:])\s*[,;:]+|[\s,;:–-]+$|^[\s,;:.–-]+"
)


class Redacted(NamedTuple):
    """A query without what is private, and the kinds of what was taken out, each once."""

    text: str
    kinds: tuple[str, ...]


def redact(query: str, *, private: Sequence[str] = (), names: Iterable[str] = ()) -> Redacted:
    """The query without emails, phone, card, bank and social security numbers, postal addresses, keys, names and facts.

    Blocking: a few milliseconds. The text may become empty.

    Args:
        query: what is to be searched for.
        private: known facts about the user. A value ("Biscuit", "Lindenstraße 5") is taken out wherever it stands; of
            a statement, what tells it: its names and numbers, and clauses in which the user says it of themselves.
        names: names that must not leave; of one of several words, each capitalized word neither.
    """
    # Wide forms of letters and signs, and characters that are not seen, must not hide what is private.
    text = _UNSEEN.sub("", unicodedata.normalize("NFKC", query))
    kinds: list[str] = []
    for kind, take_out in _steps(private, names):
        shorter = take_out(text)
        if shorter != text:
            kinds.append(kind)
            text = shorter
    if not kinds:
        return Redacted(query, ())
    text = _LOOSE_ENDS.sub("", _LOOSE_ENDS.sub("", " ".join(text.split())))
    return Redacted(" ".join(text.split()) if search_terms(text) else "", tuple(dict.fromkeys(kinds)))


def _steps(private: Sequence[str], names: Iterable[str]) -> Iterator[tuple[str, Callable[[str], str]]]:
    """What is taken out, in order: a card number must go before a part of it passes for a phone number."""
    yield "secret", lambda text: _SECRET.sub(" ", text)
    yield "email", lambda text: _EMAIL.sub(" ", text)
    yield "fact", lambda text: _without_facts(text, private)
    yield "IBAN", lambda text: _IBAN.sub(_without_iban, text)
    yield "card number", lambda text: _CARD.sub(lambda match: " " if _is_card(match[0]) else match[0], text)
    yield "social security number", lambda text: _NATIONAL_ID.sub(" ", text)
    yield "postal address", lambda text: postal().sub(" ", text)
    yield "phone number", _without_phones
    yield "name", lambda text: _without_names(text, names)


def _is_card(number: str) -> bool:
    """Whether the digits pass Luhn's check (ISO/IEC 7812-1), and are not all the same."""
    digits = [int(digit) for digit in number if digit.isdigit()]
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[::-2]) + sum(doubled)) % 10 == 0 and len(set(digits)) > 1


def _without_iban(match: re.Match[str]) -> str:
    """What is left of a possible IBAN and the words after it."""
    ends = [end.start() for end in re.finditer(r"[ -]|$", match[0])]
    return next((" " + match[0][end:] for end in reversed(ends) if _is_iban(match[0][:end])), match[0])


def _is_iban(number: str) -> bool:
    """Whether a number passes the check of ISO 13616 (MOD 97-10), in which A counts as 10, B as 11, and so on; of words
    one in a hundred does, but at least half of an IBAN are digits."""
    code = re.sub("[ -]", "", number)
    if 2 * sum(sign.isdigit() for sign in code) < len(code):
        return False
    return int("".join(str(int(sign, 36)) for sign in code[4:] + code[:4])) % 97 == 1


def _without_phones(text: str) -> str:
    if sum(character.isdigit() for character in text) < _MIN_DIGITS:
        return text
    from phonenumbers import PhoneNumberMatcher

    found = {
        (match.start, match.end)
        for region in _REGIONS
        for match in PhoneNumberMatcher(text, region)
        if not _NO_PHONE.fullmatch(match.raw_string)
    }
    for start, end in sorted(found, reverse=True):
        text = f"{text[:start]} {text[end:]}"
    return text


def _without_names(text: str, names: Iterable[str]) -> str:
    for name in names:
        text = _without(text, name)
        parts = name.split()
        for part in parts if len(parts) > 1 else []:
            if part[:1].isupper() and len(part) > 2:
                text = _without(text, part, as_written=True)
    return text


def _without_facts(text: str, private: Sequence[str]) -> str:
    for fact in private:
        words = fact.split()
        text = _without(text, fact)
        if len(words) <= _FEW_WORDS and not _SELF.search(fact):
            continue
        for match in _NAMING.finditer(fact):
            text = _without_names(text, [match["name"]])
        for address in postal().finditer(fact):
            text = _without(text, address[0])
        for identifier in _IDENTIFIER.findall(fact):
            if len(identifier) > 4 or (len(identifier) == 4 and not identifier.startswith(("19", "20"))):
                text = _without(text, identifier)
        text = _without_clauses(text, set(search_terms(fact)))
    return text


def _without_clauses(text: str, told: set[str]) -> str:
    """The text without the clauses in which the user says of themselves what the fact tells."""
    kept: list[str] = []
    at = 0
    for end in [*_CLAUSE.finditer(text), None]:
        clause = text[at : end.start() if end else len(text)]
        held = set(search_terms(clause)) - set(search_terms("i my we user"))
        tells = bool(held) and _SELF.search(clause) and len(held & told) >= max(1, _COVERED * len(held))
        kept.append(("" if tells else clause) + (end[0] if end and not tells else " "))
        at = end.end() if end else len(text)
    return "".join(kept).rstrip() if len(kept) > 1 else text


def _without(text: str, private: str, *, as_written: bool = False) -> str:
    """The text without a word or phrase, as a whole, in any case and with any white space, possessive included."""
    words = _UNSEEN.sub("", unicodedata.normalize("NFKC", private)).split()
    if not words or len(private.strip()) < 2:
        return text
    phrase = r"\s+".join(regex.escape(word) for word in words)
    before = r"(?<![\p{L}\p{N}])" if not _is_unspaced(words[0][0]) else ""
    after = r"(?:['’]s?)?(?![\p{L}\p{N}])" if not _is_unspaced(words[-1][-1]) else ""
    return regex.sub(f"{before}{phrase}{after}", " ", text, flags=0 if as_written else regex.IGNORECASE)


def _is_unspaced(character: str) -> bool:
    return regex.match(f"[{PAIRED}]", character) is not None
