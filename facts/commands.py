"""What the user asks of the memory itself: "remember that ...", "forget that ...", in their language.

Only the user's own messages are read for them, and only the beginning of a sentence counts ("I forgot that ..." asks
for nothing), or its end where the verb comes last. What is to be remembered is kept as the user's data: it never
becomes an instruction.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from ..text.fold import fold
from ..text.sentences import sentence_spans
from ..text.words import QUESTION_MARKS, is_question
from .clauses import MASK, MOST_CHARACTERS, masked
from .language import Language, language_in
from .words import content_terms

Act = Literal[
    "remember", "forget", "forget named", "forget about", "forget today", "forget conversation", "forget everything"
]

_WHOLE: Final[tuple[tuple[str, Act], ...]] = (
    ("forget_all", "forget everything"),
    ("forget_today", "forget today"),
    ("forget_conversation", "forget conversation"),
    ("forget_this", "forget"),
    ("remember_this", "remember"),
)
"""The lists whose phrases are a whole request, and what each asks for."""

_WITH_WORDS: Final[tuple[Act, ...]] = ("forget about", "forget", "remember")

_MOST_NAMED: Final = 8
"""Words of what is named: a name is short."""

_CLAUSES: Final = re.compile("[,;:，、；：،؛]")
"""What stands between clauses: "forget the dinner, I am not hungry" names nothing."""

_TRIM: Final = " \t\n,;:.!，。、：！।"


class FactCommand(NamedTuple):
    """One request to the memory. "remember" and "forget" without words mean what was said just before.

    "forget" has one thing in its words, "forget about" all that was said of them. "forget named" may be none: "forget
    the password of my bank" is one where something that the user said has these words, see `facts.forgetting.heard`.
    """

    act: Act
    words: str


def commands(text: str) -> list[FactCommand]:
    """The requests in a message of the user, in their order."""
    return _read(text, _command)


def may_ask(text: str) -> list[FactCommand]:
    """The requests to forget in a message of the user, with those that are none where nothing has their words."""
    return _read(text, _may_forget)


def asks_to_forget(sentence: str, language: Language) -> bool:
    """Whether a sentence is a request to forget, or may be one."""
    return _may_forget(sentence, language) is not None


def _may_forget(sentence: str, language: Language) -> FactCommand | None:
    if (command := _command(sentence, language)) is None:
        return _named(sentence, language)
    return command if command.act != "remember" else None


def _read(text: str, read: Callable[[str, Language], FactCommand | None]) -> list[FactCommand]:
    text = text[:MOST_CHARACTERS]
    if (language := language_in(text)) is None:
        return []
    blotted = masked(text, language)
    own = (text[start:end] for start, end in sentence_spans(blotted) if not blotted.startswith(MASK, start))
    return [command for sentence in own if (command := read(sentence, language))]


def attribute_named(words: str, language: Language | None) -> str | None:
    """The attribute that the words of "forget my ..." name, such as home for "where I live"."""
    plain = language.normalized(words) if language else ""
    named = language.attribute_words.items() if language else ()
    return next((name for name, pattern in named if pattern.search(plain)), None)


def _command(sentence: str, language: Language) -> FactCommand | None:
    start = _after_polite(sentence, language)
    asks = sentence[start:].strip(_TRIM + QUESTION_MARKS)
    plain = language.normalized(asks)
    for name, act in _WHOLE:
        if language[name].fullmatch(_without_polite_end(plain, language)):
            return FactCommand(act, "")
    if is_question(sentence) and start == 0:
        return None
    for act in _WITH_WORDS:
        if words := _words(asks, language, act.replace(" ", "_")):
            return FactCommand(act, words) if act != "remember" or _is_of_user(words, language) else None
    return None


def _named(sentence: str, language: Language) -> FactCommand | None:
    """What a sentence that is no request by its words alone may ask to forget by naming it."""
    start = _after_polite(sentence, language)
    if is_question(sentence) and start == 0:
        return None
    # Where "please" alone tells that somebody is asked, the list has it.
    for asks in (sentence[start:], sentence):
        words = _words(_cut(asks.strip(_TRIM + QUESTION_MARKS), language, "polite"), language, "forget_named")
        if words and not _CLAUSES.search(words) and not language["negation"].search(language.normalized(words)):
            named = 0 < len(content_terms(words, language)) <= _MOST_NAMED
            return FactCommand("forget named", words) if named else None
    return None


def _is_of_user(words: str, language: Language) -> bool:
    """Whether something is to be kept for the user, and not said to somebody: "remember to listen to your heart"."""
    plain = language.normalized(words)
    signs = [language["addressed"].search(plain) is not None, language["unpinned"].match(plain) is not None]
    if any(language[name].search(plain) for name in ("of_user", "first", "my", "first_verbs")):
        return not all(signs)
    return not any(signs)


def _after_polite(sentence: str, language: Language) -> int:
    """Where the request itself begins, after "please" and the like."""
    at = 0
    while True:
        at += len(sentence[at:]) - len(sentence[at:].lstrip(_TRIM))
        step = _spent(sentence[at:], language, "polite")
        if step is None or at + step >= len(sentence):
            return at
        at += step


def _without_polite_end(plain: str, language: Language) -> str:
    polite = language.ending("polite", plain)
    return plain[: polite.start()].rstrip(" ,") if polite and polite.start() else plain


def _words(asks: str, language: Language, name: str) -> str | None:
    """What is to be remembered or forgotten, verbatim; None if the sentence does not ask for it."""
    step = _spent(asks, language, name)
    if step is not None:
        return _cut(asks[step:].strip(_TRIM), language, f"{name}_end") or None
    words = _cut(asks, language, f"{name}_last")
    needed = f"{name}_last_if"
    is_asked = needed not in language.lists or language[needed].fullmatch(language.normalized(words))
    return words if words and words != asks and is_asked else None


def _cut(text: str, language: Language, name: str) -> str:
    """The text without what of a list ends it, verbatim; nothing of it where that is all."""
    plain = language.normalized(text)
    end = language.ending(name, plain)
    if end is None:
        return text
    # The normalized text may be longer or shorter: count the letters that are left.
    letters = len(re.sub(r"\s", "", plain[: end.start()]))
    if letters < 1:
        return ""
    for index, char in enumerate(text):
        letters -= len(re.sub(r"\s", "", fold(char)))
        if letters <= 0:
            return text[: index + 1].strip(_TRIM)
    return text


def _spent(text: str, language: Language, name: str) -> int | None:
    """How many characters of the text the list's phrase takes at its start; None if there is none.

    The phrase is looked up in the normalized text, whose length may differ: the place is found by growing the prefix.
    """
    match = language[name].match(language.normalized(text))
    if match is None or match.end() == 0:
        return None
    wanted = match.group().rstrip()
    for end in range(1, min(len(text), 200) + 1):
        if end < len(text) and text[end - 1].isalnum() and text[end].isalnum() and language.spaced:
            continue
        if language.normalized(text[:end]).rstrip() == wanted or len(language.normalized(text[:end]).rstrip()) > len(
            wanted
        ):
            return end
    return len(text)
