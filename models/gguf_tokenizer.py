"""The tokenizer inside a GGUF file, read without loading the model: exact counts for models on this machine."""

from __future__ import annotations

import logging
import struct
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Final

logger = logging.getLogger(__name__)

_MAGIC: Final = b"GGUF"
_NUMBERS: Final = {0: "B", 1: "b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING: Final = 8
_ARRAY: Final = 9
_MODEL: Final = "tokenizer.ggml.model"
_PRE: Final = "tokenizer.ggml.pre"
_TOKENS: Final = "tokenizer.ggml.tokens"
_MERGES: Final = "tokenizer.ggml.merges"

_DIGITS_APART: Final = frozenset({"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"})
"""Kinds of vocabulary whose text is split as that of GPT-2, after each digit was set apart."""

_AS_GPT2: Final = frozenset({"gpt-2", "phi-2", "jina-es", "jina-de", "mpt", "olmo", "jais", "roberta-bpe"})
_CONTRACTIONS: Final = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST: Final = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
_PATTERNS: Final = {
    **dict.fromkeys(
        ("llama-bpe", "llama3", "llama-v3", "dbrx", "smaug-bpe"),
        _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" + _REST,
    ),
    **dict.fromkeys(
        ("qwen2", "deepseek-r1-qwen", "stablelm2", "megrez"),
        _CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}" + _REST,
    ),
}


@lru_cache(maxsize=8)
def gguf_counter(path: Path) -> Callable[[str], int] | None:
    """What counts the tokens of a text as the model in this file does; None where its kind is not known. Blocks.

    Byte-pair vocabularies of the kinds that GPT-2, SmolLM, Llama 3 and Qwen 2 use are known.
    """
    try:
        found = _metadata(path)
        tokenizer = _tokenizer(found) if found.get(_MODEL) == "gpt2" else None
    except (OSError, ValueError, KeyError, struct.error) as error:
        logger.warning("The tokenizer of %s cannot be read, its tokens are estimated: %s", path.name, error)
        return None
    if tokenizer is None:
        return None
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False))


def _tokenizer(found: dict[str, Any]) -> Any:
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    kind = found.get(_PRE, "")
    if kind in _PATTERNS:
        split: list[Any] = [pre_tokenizers.Split(Regex(_PATTERNS[kind]), "isolated")]
    elif kind in _DIGITS_APART:
        split = [pre_tokenizers.Digits(individual_digits=True)]
    elif kind in _AS_GPT2:
        split = []
    else:
        return None
    vocabulary = {token: at for at, token in enumerate(found[_TOKENS])}
    merges = [(left, right) for left, _, right in (merge.partition(" ") for merge in found[_MERGES])]
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
    regex = kind not in _PATTERNS
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [*split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=regex)]
    )
    return tokenizer


def _metadata(path: Path) -> dict[str, Any]:
    """The four values of the header that make the tokenizer."""
    with path.open("rb") as file:
        if file.read(4) != _MAGIC:
            raise ValueError("it is no GGUF file")
        _number(file, "<I")
        _number(file, "<Q")
        wanted = {_MODEL, _PRE, _TOKENS, _MERGES}
        found: dict[str, Any] = {}
        for _ in range(_number(file, "<Q")):
            name = _text(file)
            value = _value(file, _number(file, "<I"))
            if name in wanted:
                found[name] = value
            if len(found) == len(wanted):
                break
    return found


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == _STRING:
        return _text(file)
    if kind == _ARRAY:
        inner, size = _number(file, "<I"), _number(file, "<Q")
        if inner in _NUMBERS:
            file.seek(struct.calcsize(_NUMBERS[inner]) * size, 1)
            return None
        return [_value(file, inner) for _ in range(size)]
    if kind not in _NUMBERS:
        raise ValueError(f"it holds a value of the unknown kind {kind}")
    return _number(file, _NUMBERS[kind])


def _number(file: BinaryIO, form: str) -> Any:
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def _text(file: BinaryIO) -> str:
    return file.read(_number(file, "<Q")).decode("utf-8", "replace")
