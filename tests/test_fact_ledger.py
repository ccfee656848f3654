"""The ledger: facts said again, contradicted, undecided and forgotten; nothing disappears."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everthread.facts.extraction import Occasion, extract
from everthread.facts.ledger import changed, contradict, meaning, merge, without_facts
from everthread.facts.reading import Ledger, Message, apply, read_facts
from everthread.state.fact_records import Fact

START = datetime(2024, 1, 1, tzinfo=UTC)

SENTENCES = [
    "I live in Oslo", "I live in Bergen", "i LIVE in oslo!", "I moved to Rome", "I don't live in Oslo anymore",
    "I like cats", "I hate cats", "I don't like cats", "I like dogs", "I'm 33", "I'm 34", "My sister lives in Oslo",
    "My sister lives in Bergen", "My sister moved to Rome", "I work as a nurse", "I'm a teacher now", "I play chess",
    "My favorite food is pizza", "My favorite food is soup", "I live in Oslo with my two kids",
]  # fmt: skip


def at(day: float) -> datetime:
    return START + timedelta(days=day)


def say(text: str, day: float = 0, message: str | None = None) -> list[Fact]:
    return extract(text, Occasion("t1", message or f"m{day}-{text}", at(day)))


def told(*sentences: tuple[str, float]) -> dict[str, Fact]:
    """The ledger after sentences, each with the day on which it was said."""
    ledger: tuple[Fact, ...] = ()
    for text, day in sentences:
        ledger = merge(ledger, say(text, day))
    return {f"{fact.text} @{(fact.said_at - START).days}": fact for fact in ledger}


def states(ledger: dict[str, Fact]) -> dict[str, str]:
    return {text: fact.state for text, fact in ledger.items()}


def test_a_newer_home_supersedes_the_older_which_keeps_its_interval() -> None:
    ledger = told(("I live in Oslo", 0), ("I moved to Bergen", 10))
    assert states(ledger) == {"I live in Oslo @0": "superseded", "I moved to Bergen @10": "current"}
    old, new = ledger.values()
    assert (old.valid_from, old.valid_to, old.superseded_by) == (at(0), at(10), new.id)
    assert (new.valid_from, new.valid_to) == (at(10), None)


def test_the_same_in_other_words_or_case_is_confirmed_and_not_stored_again() -> None:
    ledger = told(("I live in Oslo", 0), ("i LIVE in oslo!", 3), ("I'm living in Oslo", 5))
    (only,) = ledger.values()
    assert (only.text, only.said_at, only.confirmed_at) == ("I live in Oslo", at(0), at(5))


def test_going_back_is_a_new_interval() -> None:
    ledger = told(("I live in Oslo", 0), ("I live in Bergen", 10), ("I live in Oslo", 20))
    assert states(ledger) == {
        "I live in Oslo @0": "superseded", "I live in Bergen @10": "superseded", "I live in Oslo @20": "current",
    }  # fmt: skip


def test_more_words_about_the_same_home_take_its_place_from_its_beginning() -> None:
    ledger = told(("I live in Oslo", 0), ("I live in Oslo with my two kids", 10))
    assert states(ledger)["I live in Oslo @0"] == "superseded"
    (current,) = [fact for fact in ledger.values() if fact.state == "current"]
    assert current.valid_from == at(0)


def test_likes_accumulate_and_a_changed_taste_supersedes() -> None:
    ledger = told(("I like cats", 0), ("I like dogs", 1), ("I hate cats", 2))
    assert states(ledger) == {"I like cats @0": "superseded", "I like dogs @1": "current", "I hate cats @2": "current"}


def test_two_values_said_at_once_are_flagged_and_a_later_word_decides() -> None:
    ledger = told(("I'm 33", 0), ("I'm 34", 0))
    assert set(states(ledger).values()) == {"conflicting"}
    ledger = told(("I'm 33", 0), ("I'm 34", 0), ("I'm 35", 1))
    assert states(ledger) == {"I'm 33 @0": "superseded", "I'm 34 @0": "superseded", "I'm 35 @1": "current"}


def test_two_homes_of_a_sister_are_a_conflict_unless_she_moved() -> None:
    """There may be two sisters: nobody can say."""
    ledger = told(("My sister lives in Oslo", 0), ("My sister lives in Bergen", 5))
    assert set(states(ledger).values()) == {"conflicting"}
    ledger = told(("My sister lives in Oslo", 0), ("My sister moved to Bergen", 5))
    assert list(states(ledger).values()) == ["superseded", "current"]


def test_a_sisters_home_is_not_the_users() -> None:
    ledger = told(("I live in Oslo", 0), ("My sister lives in Bergen", 5))
    assert set(states(ledger).values()) == {"current"}


def test_what_is_no_longer_so_ends_the_fact() -> None:
    ledger = told(("I live in Oslo", 0), ("I don't live in Oslo anymore", 5))
    assert list(states(ledger).values()) == ["superseded", "current"]
    ledger = told(("I live in Bergen", 0), ("I don't live in Oslo anymore", 5))
    assert list(states(ledger).values()) == ["current", "current"]


@pytest.mark.parametrize(
    ("had", "parted"),
    [
        ("I have two dogs", "Both dogs died"), ("I drive a van", "I traded in the van"),
        ("Je joue du violon", "J'ai laissé tomber le violon"), ("عندي سيارة", "بعت سيارتي"), ("عندي قطة", "ماتت قطتي"),
    ],
)  # fmt: skip
def test_what_somebody_parted_with_is_over(had: str, parted: str) -> None:
    assert next(iter(states(told((had, 0), (parted, 5))).values())) == "superseded"


def test_one_more_contradicts_nothing_and_makes_the_count_before_it_doubtful() -> None:
    ledger = told(("I have two dogs", 0), ("We have three cats", 0), ("We got a third one", 1))
    assert states(ledger) == {
        "I have two dogs @0": "conflicting", "We have three cats @0": "current", "We got a third one @1": "current",
    }  # fmt: skip
    third = ledger["We got a third one @1"]
    assert ledger["I have two dogs @0"].superseded_by == third.id
    assert "dog" in third.terms  # what asks for the dogs finds it
    again = told(("I have two dogs", 0), ("We got a third one", 1), ("I have three dogs now", 2))
    assert list(states(again).values()) == ["superseded", "superseded", "current"]
    assert told(("We got a third one", 0)) == {}  # of what?


def test_one_of_several_that_is_lost_leaves_the_others() -> None:
    for loss in ("One of my dogs died", "My dog died"):
        ledger = told(("I have two dogs", 0), (loss, 1))
        assert states(ledger) == {"I have two dogs @0": "conflicting", f"{loss} @1": "current"}
    assert states(told(("I have two dogs", 0), ("My dogs died", 1)))["I have two dogs @0"] == "superseded"


def test_another_kind_leaves_a_count_alone() -> None:
    for other in ("We also have a cat", "I have three cats", "My sister has four dogs"):
        assert states(told(("I have two dogs", 0), (other, 1)))["I have two dogs @0"] == "current"


def test_what_hangs_on_what_changed_is_doubtful_until_it_is_said_again() -> None:
    said = [("I live in Oslo", 0), ("I row on the fjord of Oslo every week", 1), ("I like jazz", 1)]
    assert set(states(told(*said)).values()) == {"current"}
    ledger = told(*said, ("I moved to Rome", 5))
    rowing, jazz = ledger["I row on the fjord of Oslo every week @1"], ledger["I like jazz @1"]
    assert (rowing.state, rowing.superseded_by) == ("conflicting", ledger["I moved to Rome @5"].id)
    assert jazz.state == "current"
    again = told(*said, ("I moved to Rome", 5), ("I row on the fjord of Oslo every week", 9))
    assert again["I row on the fjord of Oslo every week @1"].state == "current"
    moved = again["I moved to Rome @5"].id
    assert {f.state for f in without_facts(tuple(ledger.values()), {moved})} == {"current"}


def test_what_is_gone_takes_what_was_said_of_it_along() -> None:
    ledger = told(("I have a dog", 0), ("My dog is called Rex", 1), ("My dog died last week", 5))
    assert states(ledger)["I have a dog @0"] == "superseded"
    assert states(ledger)["My dog is called Rex @1"] == "conflicting"


def test_what_was_said_earlier_but_arrives_later_does_not_replace_the_newer() -> None:
    ledger = told(("I live in Bergen", 10), ("I live in Oslo", 0))
    assert states(ledger) == {"I live in Oslo @0": "superseded", "I live in Bergen @10": "current"}
    assert ledger["I live in Oslo @0"].valid_to == at(10)


spoken = st.lists(st.tuples(st.sampled_from(SENTENCES), st.integers(0, 6)), max_size=14)


def candidates(sentences: Sequence[tuple[str, int]]) -> list[Fact]:
    return [fact for index, (text, day) in enumerate(sentences) for fact in say(text, day, f"m{index}")]


@given(spoken)
def test_merging_the_same_again_changes_nothing(sentences: list[tuple[str, int]]) -> None:
    once = merge((), candidates(sentences))
    assert changed(once, merge(once, candidates(sentences))) == ()


@given(spoken, st.randoms())
def test_the_order_in_a_batch_does_not_matter(sentences: list[tuple[str, int]], random: object) -> None:
    found = candidates(sentences)
    shuffled = list(found)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert merge((), found) == merge((), shuffled)


@given(st.sampled_from(SENTENCES), st.permutations(["m1", "m2", "m3"]))
def test_the_order_of_equal_duplicates_does_not_matter(text: str, messages: list[str]) -> None:
    ledger: tuple[Fact, ...] = ()
    for message in messages:
        ledger = merge(ledger, say(text, 0, message))
    assert [(meaning(fact), fact.state) for fact in ledger] == [(meaning(fact), "current") for fact in say(text, 0)]


@given(spoken)
def test_at_most_one_value_is_current_and_what_is_current_does_not_contradict(sentences: list[tuple[str, int]]) -> None:
    ledger: tuple[Fact, ...] = ()
    for fact in candidates(sentences):  # one at a time, in any order of time
        ledger = merge(ledger, [fact])
    current = [fact for fact in ledger if fact.state == "current"]
    slots = [fact.slot for fact in current if fact.slot is not None and not fact.negated]
    assert len(slots) == len(set(slots))
    assert not [(a.text, b.text) for a in current for b in current if contradict(a, b)]


@given(spoken)
def test_nothing_disappears(sentences: list[tuple[str, int]]) -> None:
    found = candidates(sentences)
    ledger: tuple[Fact, ...] = ()
    seen: set[str] = set()
    for fact in found:
        ledger = merge(ledger, [fact])
        ids = {one.id for one in ledger}
        assert seen <= ids
        seen = ids
    kept = {(one.subject, one.attribute, one.value if one.attribute else meaning(one)) for one in ledger}
    assert {(one.subject, one.attribute, one.value if one.attribute else meaning(one)) for one in found} == kept
    for one in ledger:
        assert one.valid_to is None or one.valid_to >= one.valid_from


def conversation(*texts: str) -> Ledger:
    """The ledger after a conversation, one message a day, each read when it was said."""
    ledger = Ledger()
    for day, text in enumerate(texts):
        before = texts[day - 1] if day else ""
        message = Message(Occasion("t1", f"m{day}", at(day)), text, before, f"m{day - 1}", "Noted.")
        ledger = apply(ledger, [read_facts(message, score=lambda *_: 0.5, auto_pin_score=0.95)])
    return ledger


def shown(ledger: Ledger) -> list[str]:
    return [fact.text for fact in ledger.facts if fact.is_open] + [p.text for p in ledger.pins if not p.forgotten_at]


def gone(ledger: dict[str, Fact], *texts: str) -> dict[str, str]:
    """The states after the facts of these texts were deleted."""
    ids = {fact.id for fact in ledger.values() if fact.text in texts}
    left = without_facts(ledger.values(), ids)
    return states({fact.text: fact for fact in left})


@pytest.mark.parametrize(
    ("asked", "taken_back"),
    [
        ("Always answer in French", "You don't have to answer in French any more"),
        ("Always use metric units", "You don't need to use metric units anymore"),
        ("Never suggest restaurants with fish", "You no longer have to avoid fish restaurants"),
        ("Please always cite your sources", "You can stop citing sources now"),
        ("Antworte immer auf Französisch", "Du musst nicht mehr auf Französisch antworten"),
        ("Nenne immer deine Quellen", "Du brauchst keine Quellen mehr zu nennen"),
        ("Réponds toujours en anglais", "Tu n'as plus besoin de répondre en anglais"),
        ("Responde siempre en inglés", "Ya no tienes que responder en inglés"),
        ("Responda sempre em inglês", "Você não precisa mais responder em inglês"),
        ("Rispondi sempre in inglese", "Non devi più rispondere in inglese"),
        ("Всегда отвечай на английском", "Тебе больше не нужно отвечать на английском"),
        ("Her zaman Fransızca cevap ver", "Artık Fransızca cevap vermene gerek yok"),
        ("हमेशा अंग्रेज़ी में जवाब दें।", "अब अंग्रेज़ी में जवाब देने की ज़रूरत नहीं है।"),
        ("دائما أجب بالفرنسية", "لم يعد عليك أن تجيب بالفرنسية"),
        ("Selalu jawab dalam bahasa Inggris", "Kamu tidak perlu menjawab dalam bahasa Inggris lagi"),
        ("תמיד תענה באנגלית", "אתה לא צריך לענות באנגלית יותר"),
        ("Hãy luôn trả lời bằng tiếng Anh", "Bạn không cần trả lời bằng tiếng Anh nữa"),
        ("请总是用法语回答。", "你不用再用法语回答了。"),
        ("今後は英語で答えてください。", "もう英語で答える必要はありません。"),
        ("앞으로는 영어로 대답해 주세요.", "이제 영어로 대답하지 않아도 돼요."),
        ("ช่วยตอบเป็นภาษาอังกฤษเสมอ", "ไม่ต้องตอบเป็นภาษาอังกฤษแล้ว"),
    ],
)
def test_a_standing_instruction_ends_where_it_is_taken_back(asked: str, taken_back: str) -> None:
    (standing,) = say(asked)
    assert standing.kind == "instruction"
    assert not next(fact for fact in merge([standing], say(taken_back, 1)) if fact.id == standing.id).is_open


def test_other_words_to_the_assistant_leave_a_standing_instruction() -> None:
    standing = say("Always answer in French")
    for said in (
        "You don't have to use metric units any more",
        "Do you no longer have to answer in French?",
        "Stop it",
    ):
        assert all(fact.is_open for fact in merge(standing, say(said, 1)) if fact.kind == "instruction")


def test_what_a_deleted_fact_had_ended_holds_again() -> None:
    ledger = told(("I live in Oslo", 0), ("I moved to Bergen", 10))
    assert gone(ledger, "I moved to Bergen") == {"I live in Oslo": "current"}
    (old,) = without_facts(ledger.values(), {fact.id for fact in ledger.values() if "Bergen" in fact.text})
    assert (old.valid_to, old.superseded_by) == (None, None)


def test_what_a_deleted_fact_had_ended_ends_with_what_ended_that_one() -> None:
    ledger = told(("I live in Oslo", 0), ("I moved to Bergen", 10), ("I moved to Rome", 20))
    left = without_facts(ledger.values(), {fact.id for fact in ledger.values() if "Bergen" in fact.text})
    oslo, rome = left
    assert (oslo.state, oslo.valid_to, oslo.superseded_by) == ("superseded", at(20), rome.id)
    assert gone(ledger, "I moved to Bergen", "I moved to Rome") == {"I live in Oslo": "current"}


def test_a_conflict_with_a_deleted_fact_is_none() -> None:
    ledger = told(("I'm 33", 0), ("I'm 34", 0))
    assert set(states(ledger).values()) == {"conflicting"}
    assert gone(ledger, "I'm 34") == {"I'm 33": "current"}


@given(spoken, st.sets(st.integers(0, 7)))
def test_deleting_any_facts_leaves_a_ledger_that_is_in_itself_consistent(
    sentences: list[tuple[str, int]], deleted: set[int]
) -> None:
    ledger = tuple(told(*sentences).values())
    ids = {fact.id for index, fact in enumerate(ledger) if index in deleted}
    left = without_facts(ledger, ids)
    assert {fact.id for fact in left} == {fact.id for fact in ledger} - ids
    known = {fact.id for fact in left}
    assert all(fact.superseded_by in known for fact in left if fact.state == "superseded")
    for fact in left:
        assert any(other.is_open for other in left if fact.slot is None or other.slot == fact.slot)
        if fact.is_open:
            rivals = [other for other in left if other.is_open and contradict(other, fact)]
            assert fact.state == ("conflicting" if rivals else "current")


def test_forgetting_a_fact_hides_it_for_good_and_saying_it_anew_brings_it_back() -> None:
    ledger = conversation("I live in Oslo. I like cats.", "Forget that I live in Oslo")
    assert shown(ledger) == ["I like cats"]
    (gone,) = [fact for fact in ledger.facts if fact.state == "forgotten"]
    assert gone.valid_to == at(1)
    again = merge(ledger.facts, say("I live in Oslo", 0, "m0") + say("I'm living in Oslo", 0.5, "other"))
    assert [fact.text for fact in again if fact.is_open] == ["I like cats"]
    assert "I live in Oslo" in [fact.text for fact in merge(again, say("I live in Oslo", 3)) if fact.is_open]


def test_forgetting_by_the_name_of_what_it_is() -> None:
    assert shown(conversation("I live in Oslo. I work as a nurse.", "Forget my address")) == ["I work as a nurse"]
    assert shown(conversation("J'habite à Lyon. J'aime le thé.", "Oublie mon adresse")) == ["J'aime le thé"]
    assert shown(conversation("My sister lives in Rome. I live in Oslo.", "Forget my sister's address"))[-1] == (
        "I live in Oslo"
    )


def test_forget_that_means_what_was_just_said() -> None:
    assert shown(conversation("I like cats", "I live in Oslo", "forget that")) == ["I like cats"]


def test_forgetting_everything_forgets_facts_and_pins() -> None:
    ledger = conversation("I live in Oslo", "Remember that the code is 1234", "Forget everything you know about me")
    assert shown(ledger) == []
    assert len(ledger.facts) + len(ledger.pins) == 2


def test_remembering_makes_a_pin_of_the_given_score_and_a_fact_the_user_vouches_for() -> None:
    ledger = conversation("Remember that I'm allergic to nuts")
    (pin,), (fact,) = ledger.pins, ledger.facts
    assert (pin.text, pin.kind, pin.score) == ("I'm allergic to nuts", "manual", 0.8)
    assert (fact.kind, fact.origin, fact.confidence) == ("constraint", "user", 1.0)


def test_remember_that_pins_what_was_just_said_or_the_answer_to_a_question() -> None:
    assert conversation("The alarm code is 1234", "remember that").pins[0].text == "The alarm code is 1234"
    assert conversation("What is the alarm code?", "remember that").pins[0].text == "Noted."


def test_an_unpinned_pin_is_forgotten_and_kept_as_such() -> None:
    ledger = conversation("Remember that the alarm code is 1234", "Forget that the alarm code is 1234")
    assert ledger.pins[0].forgotten_at == at(1)


def test_an_important_message_is_pinned_by_itself_with_its_score() -> None:
    message = Message(Occasion("t1", "m1", at(0)), "How do I fix this error in my class?")
    (pin,) = read_facts(message, score=lambda *_: 0.95, auto_pin_score=0.95).pins
    assert (pin.kind, pin.score, pin.text) == ("automatic", 0.95, message.text)
    assert not read_facts(message, score=lambda *_: 0.94, auto_pin_score=0.95).pins
    assert not read_facts(message, score=lambda *_: 1.0, auto_pin_score=None).pins
