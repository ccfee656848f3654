"""One's past from another assistant, brought into the memory: python examples/bring_your_past.py conversations.json

The file is an export of ChatGPT, Claude, Gemini and others, as it was downloaded. A second run adds only what is new.
"""

import sys
from pathlib import Path
from typing import Any

from everthread import InputError, Settings, open_memory


def main(file: Path, settings: Settings | None = None, **components: Any) -> list[str]:
    with open_memory(settings, user_id="ada", **components) as memory:
        try:
            new = memory.import_(file)
        except InputError as error:  # the wrong file, another encoding: nothing was imported
            sys.exit(str(error))
        print(f"{new.messages} new messages in {new.threads} threads.")
        memory.settled()  # until all of it is embedded; a chat may begin before
        for thread in memory.threads()[:5]:
            print(f"{thread['last_at']:%Y-%m-%d}", thread["messages"], thread["name"])
        found = memory.recall("Which books did I want to read?", limit=3)
        return [fragment.content for one in found for fragment in one.fragments]


if __name__ == "__main__":
    print(*main(Path(sys.argv[1])), sep="\n")
