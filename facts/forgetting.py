"""What a request to forget means: which sentences of which messages. Pure functions.

A sentence that says all of what was asked goes; one that says only a part of it is never taken for it: then nothing
goes, and what it may mean is told, so that the user can be asked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from ..state.fact_records import Fact, Pin
from ..text.fold import fold
from ..text.sentences import sentence_spans
from .commands import FactCommand, asks_to_forget, commands, may_ask
from .extraction import Occasion, extract
from .language import Language
from .said import Said
from .wish import FEW, PART, REPEATS, Wish
from .words import content_terms, key

_MOST_TOLD: Final = 5
"""Sentences that are shown as what may be meant."""


_Found = tuple[Said, int, str]
"""A message, and the number and text of a sentence of it."""


class Part(NamedTuple):
    """What of a message is forgotten: all but the rest."""

    said: Said
    rest: str


class Meant(NamedTuple):
    """What a request means: what is forgotten, or where that is not clear, sentences that it may mean."""

    parts: tuple[Part, ...] = ()
    unclear: tuple[str, ...] = ()


def meant_by(
    command: FactCommand,
    language: Language,
    asked: Occasion,
    said: Sequence[Said],
    *,
    facts: Sequence[Fact] = (),
    pins: Sequence[Pin] = (),
) -> Meant:
    """What a request with words means.

    Args:
        command: "forget", "forget named" or "forget about".
        language: that of the message that asks.
        asked: where and when it was asked.
        said: messages of the user's threads that may be meant, in their order, and the replies to them.
        facts: the user's, because a summarizer may have worded them.
        pins: the user's.
    """
    wish = Wish(command, language, asked, facts)
    gone: dict[tuple[str, str], set[int]] = {}
    near: list[tuple[float, str]] = []
    found: list[_Found] = []
    sources = {(fact.thread_id, fact.source_id) for fact in facts if wish.names(fact)}
    for message, number, sentence in _in_sentences(said, wish, sources):
        share = wish.share(sentence, message.role)
        if share == 1.0:
            found.append((message, number, sentence))
        elif share >= PART and message.role == "user":
            near.append((share, sentence))
    if not found and wish.bends:
        found, near = _bent_ones(said, wish)
    if _is_open(found, wish):
        return Meant(unclear=_told((sentence for message, _, sentence in found if message.role == "user"), language))
    for message, number, _ in found:
        gone.setdefault((message.thread_id, message.id), set()).add(number)
    _add_sources(gone, said, wish, facts, pins)
    of_user = any(message.role == "user" and (message.thread_id, message.id) in gone for message in said)
    if not of_user and (command.act != "forget about" or not gone):
        return Meant(unclear=_told((sentence for _, sentence in sorted(near, reverse=True)), language))
    _add_replies(gone, said, wish)
    return Meant(tuple(_parts(said, gone)))


def sources_of(facts: Iterable[Fact], pins: Iterable[Pin], said: Sequence[Said]) -> Meant:
    """All that tells something of the user: the sentences that facts and pins were made from."""
    told: dict[tuple[str, str], list[str]] = {}
    texts = [((fact.thread_id, fact.source_id), fact.text) for fact in facts]
    for place, text in [*texts, *(((pin.thread_id, pin.source_id), pin.text) for pin in pins)]:
        told.setdefault(place, []).append(text)
    gone: dict[tuple[str, str], set[int]] = {}
    for message in said:
        place = message.thread_id, message.id
        for text in told.get(place, ()):
            terms = set(content_terms(text))
            shares = [len(terms.intersection(content_terms(one))) for one in message.sentences]
            gone.setdefault(place, set()).update(at for at, share in enumerate(shares) if share == max(shares))
    return Meant(tuple(_parts(said, gone)))


def whole(said: Iterable[Said]) -> Meant:
    """All of these messages."""
    return Meant(tuple(Part(message, "") for message in said))


def asked_in(text: str) -> list[FactCommand]:
    """The requests to forget in a message of the user."""
    return [command for command in commands(text) if command.act != "remember"]


def heard(
    command: FactCommand,
    language: Language,
    asked: Occasion,
    said: Iterable[Said],
    *,
    facts: Sequence[Fact] = (),
    pins: Sequence[Pin] = (),
) -> bool:
    """Whether "forget named" is a request: something that the user said, or that is known, has all of its words.

    "Forget the password of my bank" is one to whoever has told it; "forget the whole business" is a turn of speech.
    """
    wish = Wish(command, language, asked, facts)
    if any(wish.names(fact) or wish.hears(fact.text) for fact in facts) or any(wish.hears(pin.text) for pin in pins):
        return True
    own = (message for message in said if message.role == "user" and wish.may_concern(message.text))
    found = (sentence for message in own for sentence in message.sentences if wish.hears(sentence))
    return any(not asks_to_forget(sentence, language) for sentence in found)


def rest_of(text: str, requests: Iterable[FactCommand] = ()) -> str:
    """What a message says beside its requests to forget; empty where it says nothing else.

    Args:
        text: of the message.
        requests: those of it that were heard.
    """
    named = {request.words for request in requests if request.act == "forget named"}
    rest = _but(text, lambda one: any(may.act != "forget named" or may.words in named for may in may_ask(one)))
    return rest if content_terms(rest) else ""


def without_repeats(text: str, command: FactCommand, language: Language, asked: Occasion) -> str:
    """A reply without the sentences that repeat what was asked to be forgotten."""
    wish = Wish(command, language, asked)
    wish.values = {fact.value for fact in wish.asked if fact.value}
    return _but(text, wish.repeats)


def _but(text: str, is_left_out: Callable[[str], object]) -> str:
    """A text without the sentences of which something is true."""
    spans = list(sentence_spans(text))
    return _without(text, spans, {at for at, (start, end) in enumerate(spans) if is_left_out(text[start:end])})


def _bent_ones(said: Sequence[Said], wish: Wish) -> tuple[list[_Found], list[tuple[float, str]]]:
    """Where a request bends the verb: the sentences whose value it names, or the one that has most of its words."""
    asked = fold(wish.command.words).replace(" ", "")
    valued: dict[str | None, list[_Found]] = {}
    shared: list[tuple[float, _Found]] = []
    of_user = (message for message in said if message.role == "user")
    for message, number, sentence in _in_sentences(of_user, wish):
        share = wish.held(wish.terms_of(sentence))
        found = extract(sentence, wish.said, language=wish.language)
        if share < PART or not (facts := [f for f in found if f.subject == wish.subject and not f.negated]):
            continue
        shared.append((share, (message, number, sentence)))
        for fact in facts if share >= REPEATS else ():
            if fact.value and fact.kind != "preference" and fold(fact.value).replace(" ", "") in asked:
                valued.setdefault(fact.slot, []).append((message, number, sentence))
    near = [(share, sentence) for share, (_, _, sentence) in shared]
    if len(valued) == 1:
        return next(iter(valued.values())), near
    best = max((share for share, _ in shared), default=0.0)
    top = [found for share, found in shared if share == best]
    alone = len({key(sentence) for _, _, sentence in top}) == 1 and best >= REPEATS
    return (top if alone else []), near


def _in_sentences(said: Iterable[Said], wish: Wish, sources: Collection[tuple[str, str]] = ()) -> Iterator[_Found]:
    """The sentences of the messages that may be meant, each with its message and number."""
    for message in said:
        if (message.thread_id, message.id) in sources or wish.may_concern(message.text):
            yield from ((message, number, sentence) for number, sentence in enumerate(message.sentences))


def _is_open(found: Sequence[_Found], wish: Wish) -> bool:
    """Whether several things match as well: two that are named alike, of which neither says what the other does."""
    if not wish.is_thing or wish.attribute is not None or wish.command.act == "forget about":
        return False
    own = {s for message, _, s in found if message.role == "user"}
    told = [set(wish.terms_of(s)) for s in own if not asks_to_forget(s, wish.language)]
    return any(not (one <= other or other <= one) for one in told for other in told)


def _add_sources(
    gone: dict[tuple[str, str], set[int]], said: Sequence[Said], wish: Wish, facts: Sequence[Fact], pins: Sequence[Pin]
) -> None:
    """What facts in a summarizer's words were made from, and what asked for pins."""
    by_id = {(message.thread_id, message.id): message for message in said}
    sources = [(f.thread_id, f.source_id) for f in facts if wish.says(f) or wish.holds(f)]
    sources += [(f.thread_id, f.source_id) for f in facts if wish.names(f)]
    held = [pin for pin in pins if wish.held(wish.terms_of(pin.text)) == 1.0 and len(wish.terms) >= FEW]
    for place in [*sources, *((pin.thread_id, pin.source_id) for pin in held)]:
        message = by_id.get(place)
        if message is None or place in gone:
            continue
        shares = [wish.held(wish.terms_of(sentence)) for sentence in message.sentences]
        best = max(shares, default=0.0)
        gone[place] = {at for at, share in enumerate(shares) if share == best}


def _add_replies(gone: dict[tuple[str, str], set[int]], said: Sequence[Said], wish: Wish) -> None:
    """The sentences of others that say it again; of replies to a part of it, also those that repeat some of its words.

    A reply to a message that goes as a whole goes as a whole: it says it in words that nobody can tell. So does a call
    of a tool whose arguments say it again, with what came of it.
    """
    asked: dict[str, Said] = {}
    called: set[str] = set()
    for message in said:
        place = message.thread_id, message.id
        if message.role == "user":
            asked[message.thread_id] = message
            continue
        before = asked.get(message.thread_id)
        numbers = gone.get((before.thread_id, before.id), set()) if before else set[int]()
        repeats = wish.repeats if numbers else wish.tells
        is_whole = before is not None and len(numbers) >= len(before.spans) > 0
        if message.role == "tool":
            is_whole |= message.thread_id in called
        elif any(map(repeats, message.arguments)):
            called.add(message.thread_id)
            is_whole = True
        else:
            called.discard(message.thread_id)
        again = {at for at, sentence in enumerate(message.sentences) if is_whole or repeats(sentence)}
        if again:
            gone.setdefault(place, set()).update(again)


def _parts(said: Iterable[Said], gone: dict[tuple[str, str], set[int]]) -> Iterator[Part]:
    for message in said:
        numbers = gone.get((message.thread_id, message.id))
        if numbers is not None:
            yield Part(message, _without(message.text, message.spans, numbers))


def _without(text: str, spans: Iterable[tuple[int, int]], numbers: Collection[int]) -> str:
    """A text without the sentences of these numbers, and else as it was."""
    kept, end = "", 0
    for at, (start, stop) in enumerate(spans):
        kept += text[end:start] + (text[start:stop] if at not in numbers else "")
        end = stop
    return kept.strip()


def _told(sentences: Iterable[str], language: Language) -> tuple[str, ...]:
    """What may be meant, as it is told: not what was asked before."""
    distinct = {key(sentence): sentence for sentence in sentences}.values()
    return tuple(islice((one for one in distinct if not asks_to_forget(one, language)), _MOST_TOLD))
