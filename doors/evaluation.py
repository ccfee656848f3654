"""One's own questions, with what should be found for them: whether it reaches the prompt, and what that costs."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final, Self

from langchain_core.messages import AnyMessage, convert_to_messages
from pydantic import AwareDatetime, ConfigDict, Field, ValidationError

from ..state.errors import InputError
from ..state.messages import message_text
from ..state.records import Memory, Record
from ..text.fold import fold

if TYPE_CHECKING:
    from .memory import ConversationMemory

EXAMPLE: Final = Path(__file__).parent / "data" / "example.jsonl"
"""A small conversation with questions, which comes along."""


class Said(Record):
    """A line of the file: a message of the conversation that is asked about."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(min_length=1)
    thread: str = Field("conversation", min_length=1)
    role: str
    content: str = Field(min_length=1)
    at: AwareDatetime | None = Field(None, description="When it was said; by default now.")


class Question(Record):
    """A line of the file: a question, and what its prompt should hold. Without either nothing should be remembered."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = Field(min_length=1)
    thread: str | None = Field(None, description="The thread in which it is asked; by default a new one.")
    messages: tuple[str, ...] = Field((), description="Ids of messages whose text should stand in the prompt.")
    words: tuple[str, ...] = Field((), description="Words that should stand in the prompt.")


class QuestionFile(Record):
    """What a file holds. Where it has messages of its own, the questions are about them."""

    said: tuple[Said, ...] = ()
    questions: tuple[Question, ...]

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a file of JSON Lines, in UTF-8: a line is a message (`content`) or a question (`question`).

        Raises:
            InputError: a line is neither, or the file cannot be read or holds no question.
        """
        said, questions = [], []
        try:
            text = file.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{file} cannot be read: {error}. Expected a text file in UTF-8.") from error
        for number, line in enumerate(text.split("\n"), start=1):
            if not line.strip():
                continue
            try:
                values = json.loads(line)
                if isinstance(values, dict) and "question" in values:
                    questions.append(Question.model_validate(values))
                else:
                    said.append(Said.model_validate(values))
            except ValueError as error:
                raise InputError(f"Line {number} of {file}: {_why(error)}.") from error
        if not questions:
            raise InputError(
                f'{file} holds no question: expected lines such as {{"question": "...", "words": ["..."]}}.'
            )
        return cls(said=tuple(said), questions=tuple(questions))


class Answer(Record):
    """What the prompt of one question held.

    `found` is the share of what was expected; None where nothing was. `precision` is the share of the memories that
    hold something expected; None where there are none though something was expected, as the prompt may hold that
    without a memory.
    """

    question: str
    found: float | None = Field(ge=0.0, le=1.0)
    missing: tuple[str, ...]
    precision: float | None = Field(ge=0.0, le=1.0)
    memories: int = Field(ge=0)
    memory_tokens: int = Field(ge=0)
    tokens: int = Field(ge=0, description="Of the whole prompt.")
    milliseconds: float = Field(ge=0.0)


class Evaluation(Record):
    """All questions under one choice of settings: means, and each answer."""

    settings: str = Field(description="What was chosen, as it was written.")
    questions: int
    found: float | None
    precision: float | None
    silent: float | None = Field(description="The share of the questions with nothing to find that brought no memory.")
    tokens: float
    memory_tokens: float
    milliseconds: float
    answers: tuple[Answer, ...]


async def evaluate(memory: ConversationMemory, file: QuestionFile, settings: str = "") -> Evaluation:
    """Ask a memory the questions of a file, after it was given the messages of the file.

    Args:
        memory: an empty one where the file has messages; else that of the user who is asked about.
        file: messages and questions.
        settings: what the result calls the settings of this memory.

    Raises:
        InputError: a message has a role that is none, or a question names a message that is not there.
        StorageError: the storage fails.
    """
    for thread in dict.fromkeys(said.thread for said in file.said):
        await memory.aremember([_message(said) for said in file.said if said.thread == thread], thread_id=thread)
    await memory.asettled()
    texts = await _texts(memory, {id_ for question in file.questions for id_ in question.messages})
    answers = [await _asked(memory, question, texts) for question in file.questions]
    return Evaluation(
        settings=settings,
        questions=len(answers),
        found=_mean(answer.found for answer in answers),
        precision=_mean(answer.precision for answer in answers),
        silent=_mean(float(answer.memories == 0) for answer in answers if answer.found is None),
        tokens=fmean(answer.tokens for answer in answers),
        memory_tokens=fmean(answer.memory_tokens for answer in answers),
        milliseconds=fmean(answer.milliseconds for answer in answers),
        answers=tuple(answers),
    )


async def _asked(memory: ConversationMemory, question: Question, texts: dict[str, str]) -> Answer:
    begun = time.perf_counter()
    built = await memory.abuild_context(question.question, thread_id=question.thread or f"eval-{uuid.uuid4()}")
    milliseconds = 1000 * (time.perf_counter() - begun)
    # The question stands at the end of the prompt, and answers nothing.
    whole = _even("\n".join(map(message_text, built.messages)))
    prompt = whole.removesuffix(_even(question.question))
    in_memories = {id_ for found in built.memories for id_ in found.source_ids}
    missing = [id_ for id_ in question.messages if id_ not in in_memories and _even(texts[id_]) not in prompt]
    missing += [word for word in question.words if _even(word) not in prompt]
    expected = len(question.messages) + len(question.words)
    sections = {section.name: section.tokens for section in built.report.sections}
    return Answer(
        question=question.question,
        found=1 - len(missing) / expected if expected else None,
        missing=tuple(missing),
        precision=_precision(question, built.memories, is_expected=expected > 0),
        memories=len(built.memories),
        memory_tokens=sections.get("memories", 0),
        tokens=built.tokens,
        milliseconds=milliseconds,
    )


def _precision(question: Question, memories: Sequence[Memory], *, is_expected: bool) -> float | None:
    if not memories:
        return None if is_expected else 1.0
    words = [_even(word) for word in question.words]
    wanted = set(question.messages)
    right = 0
    for memory in memories:
        text = _even("\n".join(fragment.content for fragment in memory.fragments))
        right += bool(wanted & set(memory.source_ids)) or any(word in text for word in words)
    return right / len(memories)


async def _texts(memory: ConversationMemory, wanted: set[str]) -> dict[str, str]:
    """The texts of the messages that questions name, by id."""
    texts: dict[str, str] = {}
    for row in await memory.athreads() if wanted else []:
        found = await memory.user.archive.whole_messages(row["thread_id"], wanted - set(texts))
        texts |= {id_: message_text(message) for id_, message in found.items()}
    if unknown := sorted(wanted - set(texts)):
        raise InputError(f"There is no message {unknown[0]!r} among what was said: expected the id of a message.")
    return texts


def _message(said: Said) -> AnyMessage:
    try:
        (message,) = convert_to_messages([{"role": said.role, "content": said.content, "id": said.id}])
    except (ValueError, NotImplementedError) as error:
        raise InputError(
            f"Message {said.id!r} has the role {said.role!r}: expected user, assistant or system."
        ) from error
    if said.at is not None:
        message.additional_kwargs["created_at"] = said.at.isoformat()
    return message  # type: ignore[return-value]  # LangChain types it by the base class


def _even(text: str) -> str:
    return " ".join(fold(text).split())


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _why(error: Exception) -> str:
    if not isinstance(error, ValidationError):
        return f"it is no JSON ({error})"
    first: Any = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the line'}: {first['msg']}"
