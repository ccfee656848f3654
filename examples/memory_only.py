"""The memory alone, for a program that calls its model itself: python examples/memory_only.py openai:gpt-5-mini"""

import sys
from typing import Any

from langchain.chat_models import init_chat_model
from langchain_core.language_models import BaseChatModel

from everthread import ConversationMemory, InputError, Settings, open_memory


def turn(memory: ConversationMemory, model: BaseChatModel, thread: str, question: str) -> str:
    """One turn of a chat: what the model is shown is made, and what was said is kept."""
    prompt = memory.context(question, thread_id=thread, budget=3_000, instructions="You are a good listener.")
    reply = model.invoke(prompt)
    memory.remember([("user", question), reply], thread_id=thread)
    return reply.text


def main(model: BaseChatModel, settings: Settings | None = None, **components: Any) -> list[str]:
    with open_memory(settings, user_id="ada", **components) as memory:
        replies = [turn(memory, model, "t1", "I live in Oslo, and my dog is called Biscuit.")]
        memory.settled()
        replies.append(turn(memory, model, "t2", "What is my dog called?"))

        for found in memory.recall("my dog", limit=3):
            print(f"{found.score:.2f}", found.thread_id, [fragment.content for fragment in found.fragments])
        for fact in memory.facts():
            print(fact.state, fact.text, "because of:", memory.fact_source(fact))
        print([message.text for message in memory.history("t1")])

        (home,) = [fact for fact in memory.facts() if fact.attribute == "home"]
        memory.add_fact("I live in Bergen", corrects=home.id)
        memory.pin("The vet closes at six.", thread_id="t1", score=0.9)
        try:
            memory.forget("t1", messages=["no such message"])
        except InputError as error:
            print(error)
        print(memory.delete())
        return replies


if __name__ == "__main__":
    main(init_chat_model(sys.argv[1]))
