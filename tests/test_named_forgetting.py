"""Requests to forget what they name with an article: heard where it was said, and else a turn of speech."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from conversation import EchoModel, say
from test_chat_forgetting import found
from test_fact_forgetting import rows

from everthread import Settings, open_graph, open_memory
from everthread.facts.commands import FactCommand, commands, may_ask
from everthread.facts.extraction import Occasion, extract
from everthread.facts.forgetting import heard, meant_by
from everthread.facts.language import language_in
from everthread.facts.said import Said
from everthread.graph.conversation import CompiledConversation
from everthread.state.search_records import SearchResult

MOMENT = datetime(2024, 5, 1, tzinfo=UTC)

REQUESTS = [
    ("Forget the password of my bank.", "The password of my bank is hunter2.", "My bank is far away."),
    ("Please forget the name of my dog.", "My dog is called Rex.", "I like my dog."),
    ("Could you forget the bank password, please?", "My bank password is hunter2.", "My bank is far away."),
    ("Forget Anna's phone number.", "Anna's phone number is 5551234.", "Anna likes tea."),
    ("Delete the alarm code from your memory.", "The alarm code is 4471.", "The alarm rang."),
    ("Forget the garage code I gave you.", "The garage code is 4471.", "The garage is green."),
    ("Vergiss das Passwort meiner Bank.", "Das Passwort meiner Bank ist hunter2.", "Meine Bank ist weit weg."),
    ("Vergiss bitte den Namen meines Hundes.", "Mein Hund heißt Rex.", "Ich mag meinen Hund."),
    ("Oublie le mot de passe de ma banque.", "Le mot de passe de ma banque est hunter2.", "Ma banque est loin."),
    ("Oublie le nom de mon chien.", "Mon chien s'appelle Rex.", "J'aime mon chien."),
    ("Olvida la contraseña de mi banco.", "La contraseña de mi banco es hunter2.", "Mi banco está lejos."),
    ("Por favor, olvida el nombre de mi perro.", "Mi perro se llama Rex.", "Mi perro es grande."),
    ("Dimentica la password della mia banca.", "La password della mia banca è hunter2.", "La mia banca è lontana."),
    ("Esqueça a senha do meu banco.", "A senha do meu banco é hunter2.", "Meu banco fica longe."),
    ("Lupakan kata sandi bank itu.", "Kata sandi bank itu hunter2.", "Bank itu jauh."),
    ("Забудь пароль от моего банка.", "Пароль от моего банка hunter2.", "Мой банк далеко."),
    ("Забудь имя моей собаки.", "Мою собаку зовут Рекс.", "Моя собака большая."),
    ("请忘记银行的密码。", "银行的密码是1234。", "银行很远。"),
    ("把银行的密码忘掉吧。", "银行的密码是1234。", "银行很远。"),
    ("銀行の暗証番号を忘れてください。", "銀行の暗証番号は1234です。", "銀行は遠いです。"),
    ("은행 비밀번호를 잊어줘.", "은행 비밀번호는 1234예요.", "은행은 멀어요."),
    ("Banka şifresini unut.", "Banka şifresi hunter2.", "Banka uzakta."),
    ("انس كلمة مرور البنك", "كلمة مرور البنك هي hunter2", "البنك بعيد"),
]  # fmt: skip

SPEECH = [
    ("Forget the whole thing, let us talk about the garden.", "The whole thing about the garden was long."),
    ("Don't forget the milk.", "The milk is for Anna."),
    ("Forget the milk, we have enough.", "The milk is for Anna."),
    ("Forget the second paragraph of the letter.", "The second paragraph of the letter is long."),
    ("Please delete the second paragraph.", "The second paragraph is long."),
    ("I forget the name of my dog.", "My dog is called Rex."),
    ("Vergiss die Milch nicht.", "Die Milch ist für Anna."),
    ("Vergiss meine Adresse nicht.", "Ich wohne in Wien."),
    ("Vergiss das Ganze, reden wir über den Garten.", "Das Ganze über den Garten war lang."),
    ("N'oublie pas le lait.", "Le lait est pour Anna."),
    ("Oublie le reste.", "Le reste est pour Anna."),
    ("No olvides la leche.", "La leche es para Anna."),
    ("Non dimenticare il latte.", "Il latte è per Anna."),
    ("Não esqueça o leite.", "O leite é para Anna."),
    ("Jangan lupakan susu.", "Susu itu untuk Anna."),
    ("Не забудь молоко.", "Молоко для Анны."),
    ("别忘了牛奶。", "牛奶是给安娜的。"),
    ("忘了带钥匙。", "我没带钥匙。"),
    ("牛乳を忘れないで。", "牛乳はアンナのです。"),
    ("우유를 잊지 마.", "우유는 안나 거예요."),
    ("Sütü unutma.", "Süt Anna için."),
    ("لا تنس الحليب", "الحليب لآنا"),
]  # fmt: skip


def names_to_forget(text: str) -> list[FactCommand]:
    """What may be a request to forget by what it names alone."""
    return [one for one in may_ask(text) if one.act == "forget named"]


def gone(request: str, *said: str) -> set[str]:
    """The messages of which something goes; none where the request is not heard."""
    messages = [Said("t", f"m{n}", n, "user", text, MOMENT) for n, text in enumerate(said)]
    facts = [fact for one in messages for fact in extract(one.text, Occasion("t", one.id, MOMENT))]
    language, asked = language_in(request), Occasion("t", "q", MOMENT)
    assert language is not None
    sure = [command for command in commands(request) if command.act != "remember"]
    maybe = [one for one in names_to_forget(request) if heard(one, language, asked, messages, facts=facts)]
    found = [meant_by(command, language, asked, messages, facts=facts) for command in [*sure, *maybe]]
    return {part.said.text for meant in found for part in meant.parts}


@pytest.mark.parametrize(("request_", "goes", "stays"), REQUESTS)
def test_what_was_named_with_an_article_goes_where_it_was_said_and_nothing_else(
    request_: str, goes: str, stays: str
) -> None:
    assert gone(request_, goes, stays) == {goes}
    assert gone(request_, stays) == set()


@pytest.mark.parametrize(("speech", "said"), SPEECH)
def test_what_only_sounds_like_it_removes_nothing_though_its_words_were_said(speech: str, said: str) -> None:
    assert gone(speech, said) == set()


def test_a_single_word_removes_nothing() -> None:
    assert gone("Forget the milk.", "Buy milk and eggs.") == set()


def test_of_what_was_labelled_as_no_request_nothing_is_taken_for_one() -> None:
    assert [row.text for row in rows() if row.act == "-" and names_to_forget(row.text)] == []


async def test_a_request_with_an_article_is_done_and_not_kept(graph: CompiledConversation) -> None:
    await say(graph, "The password of my bank is hunter2.", to="one")
    state = await say(graph, "Forget the password of my bank. I like tea.", to="one")
    assert state["facts"].forgotten.is_done
    assert "hunter2" not in await found(graph, "What is the password of my bank?")
    user = graph.resources.of_user("ada")  # type: ignore[attr-defined]
    said = [message.text for message in await user.archive.messages("one")]
    assert said[0] == "I like tea."
    assert "password" not in str(said)


async def test_what_nobody_said_is_no_request_and_the_message_is_kept_as_it_is(graph: CompiledConversation) -> None:
    await say(graph, "I live in Oslo.", to="one")
    state = await say(graph, "Forget the password of my bank.", to="one")
    assert state["facts"].forgotten is None
    assert "asks to forget" not in " ".join(message.text for message in state["context"].messages)
    user = graph.resources.of_user("ada")  # type: ignore[attr-defined]
    assert "Forget the password of my bank." in [message.text for message in await user.archive.messages("one")]


async def test_what_somebody_else_said_is_not_heard(graph: CompiledConversation) -> None:
    await say(graph, "The password of my bank is hunter2.", to="one")
    state = await say(graph, "Forget the password of my bank.", to="two", user="bob")
    assert state["facts"].forgotten is None
    assert "hunter2" in await found(graph, "What is the password of my bank?")


class Engine:
    """An engine that remembers what it was asked."""

    name = "asked"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def available(self) -> bool:
        return True

    async def search(self, query: str, max_results: int, timeout: float) -> list[SearchResult]:
        self.asked.append(query)
        return [SearchResult(title="Banks", url="https://example.org", content="About banks.", engine=self.name)]


async def test_what_was_heard_is_told_to_no_search_engine_and_what_was_not_is_searched_for(
    settings: Settings, embeddings: Any, echo: EchoModel
) -> None:
    engine = Engine()
    always = settings.model_copy(update={"web_search": "always", "search_engines": ("asked",)})
    async with open_graph(always, model=echo, embeddings=embeddings, engines={"asked": engine}) as graph:
        await say(graph, "Forget the password of my bank.", to="one")
        assert engine.asked
        await say(graph, "The password of my bank is hunter2.", to="one", web_search="off")
        engine.asked.clear()
        state = await say(graph, "Forget the password of my bank.", to="one")
        assert state["facts"].forgotten.is_done
        await say(graph, "And how much is it there?", to="one")
    assert not [query for query in engine.asked if "password" in query]


async def test_a_memory_without_the_graph_hears_it_too(settings: Settings, embeddings: Any) -> None:
    async with open_memory(settings, user_id="ada", embeddings=embeddings) as memory:
        told = [("user", "The password of my bank is hunter2."), ("assistant", "Noted.")]
        await memory.aremember(told, thread_id="one")
        await memory.aremember([("user", "Forget the password of my bank."), ("assistant", "Done.")], thread_id="one")
        assert await memory.ahistory("one") == []
