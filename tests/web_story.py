"""A story for the page: three conversations with facts, pins, summaries, a search and a branch that was left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from everthread import Settings, open_graph
from everthread.graph.conversation import Conversation
from everthread.state.search_records import SearchResult

TALK = (
    ("My name is Ada and I live in Oslo.", "Good to meet you, Ada. How do you like Oslo in November?"),
    (
        "It is dark, but the trams run on time. My dog is called Biscuit.",
        "Biscuit is a fine name. Does he ride the tram?",
    ),
    ("He does, in a bag. I am allergic to peanuts, by the way.", "I will leave peanuts out of every recipe."),
    ("Remember that the vet closes at six.", "I will remember: the vet closes at six."),
    ("What could I cook tonight? There are lentils and a squash.", "A lentil and squash stew, with cumin and lemon."),
    ("That sounds good. How long does it take?", "About forty minutes, most of it without you."),
    ("We decided to move to Bergen in spring.", "Bergen, then: rain, mountains, and fish at the harbour."),
    ("I moved to Bergen last week.", "Welcome to Bergen! Has Biscuit found a park?"),
    ("He has. The flat is on the fourth floor, and has no lift.", "Then you both stay fit."),
    ("What is my dog called?", "He is called Biscuit."),
    ("When does the vet close?", "At six."),
    ("Thank you. What did we cook in November?", "A lentil and squash stew with cumin and lemon."),
)
WORK = (
    ("The release is due on the 12th of December.", "Then the freeze begins on the 5th."),
    ("Ruth reviews the importer, and I write the notes.", "Noted: Ruth the importer, you the notes."),
    ("Who reviews the importer?", "Ruth does."),
)


class Timetable:
    """A search engine that finds one page."""

    name = "timetable"

    def available(self) -> bool:
        return True

    async def search(self, query: str, max_results: int, timeout: float) -> list[SearchResult]:
        content = "Night trams of Oslo: lines 11 and 12 run every half an hour, at weekends every quarter. " * 4
        page = {"title": "Night trams in Oslo", "url": "https://example.org/trams", "engine": self.name}
        return [SearchResult(**page, content=content)]


class Storyteller(BaseChatModel):
    """A chat model that replies as it is told, and counts tokens as a provider with a prompt cache does."""

    replies: dict[str, str] = {}  # noqa: RUF012  # a pydantic field

    @property
    def _llm_type(self) -> str:
        return "storyteller"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **_: Any) -> ChatResult:
        asked = str(messages[-1].text)
        reply = next((reply for question, reply in self.replies.items() if question in asked), "I see.")
        size = sum(len(str(message.text)) for message in messages) // 4
        usage = {
            "input_tokens": size, "output_tokens": len(reply) // 4, "total_tokens": size + len(reply) // 4,
            "input_token_details": {"cache_read": size // 2},
        }  # fmt: skip
        message = AIMessage(reply, usage_metadata=usage, response_metadata={"model_name": "storyteller-1"})
        return ChatResult(generations=[ChatGeneration(message=message)])


def story_graph(settings: Settings, embeddings: Any) -> open_graph:
    """The graph that the story is told on."""
    model = Storyteller(replies=dict([*TALK, *WORK, ("trams run", "Lines 11 and 12 run all night.")]))
    values = settings.but(n_sum=4, sum_window=2, n_sum_sum=2, max_sum_lvl=2, prices="input=3,cached=0.3,output=15",
        search_engines=("timetable",), web_search="auto",
    )  # fmt: skip
    return open_graph(values, model=model, embeddings=embeddings, engines={"timetable": Timetable()})


def small_graph(folder: Path, embeddings: Any) -> open_graph:
    """The same on SQLite in a folder of its own, in which nothing was said yet."""
    settings = Settings(database_url="sqlite", data_dir=folder, summary_model="extractive", user_id="ada")
    return story_graph(settings, embeddings)


async def told(graph: Conversation, user_id: str = "ada") -> None:
    """Tell the story."""

    async def say(thread: str, *messages: Any, name: str | None = None) -> Any:
        config: Any = {"configurable": {"thread_id": thread}}
        state = await graph.ainvoke({"messages": list(messages)}, config, context={"user_id": user_id})
        if name:
            await graph.resources.of_user(user_id).archive.own_thread(thread, name)
        return state

    for question, _ in TALK:
        state = await say("home", ("user", question), name="At home")
    await say(
        "home", *(RemoveMessage(id=str(message.id)) for message in state["messages"][-2:]), ("user", "Good night.")
    )
    for question, _ in WORK:
        await say("work", ("user", question), name="The release")
    await say("trams", ("user", "Search the web: which trams run at night in Oslo today?"))
    await graph.asettled()


HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'{{7*7}}</textarea><svg/onload=alert(3)>"


async def told_hostile(graph: Conversation) -> None:
    """A conversation in which everything that can be named is hostile."""
    thread = f"t{HOSTILE}"
    config: Any = {"configurable": {"thread_id": thread}}
    call = {"name": f"tool{HOSTILE}", "args": {HOSTILE: HOSTILE}, "id": "c1", "type": "tool_call"}
    for n in range(4):
        text = f"My dog is called Biscuit {n}. {HOSTILE}"
        await graph.ainvoke({"messages": [("user", text)]}, config, context={"user_id": "ada"})
    await graph.asettled()
    user = graph.resources.of_user("ada")
    await user.archive.own_thread(thread, f"name{HOSTILE}")
    await user.archive.add_messages(thread, [AIMessage("", tool_calls=[call], id=f"m{HOSTILE}", name=f"n{HOSTILE}")])


async def told_long(graph: Conversation) -> None:
    """A conversation of several pages."""
    archive = graph.resources.of_user("ada").archive
    await archive.own_thread("long", "A long one")
    await archive.add_messages("long", [HumanMessage(f"Question number {n}.", id=f"q{n}") for n in range(1, 121)])
