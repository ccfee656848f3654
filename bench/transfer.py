"""How fast an import is beside the bare embedding model: `python bench/transfer.py [--data FILE] [--json FILE]`.

What is imported is one conversation, or with `--export FILE` what another product has exported, from the file to the
last vector and the last fact: converted, read, checked, stored, embedded and read for facts, on the embedded server.
The bare model gets the very same texts (a long message is several) in one call, which lets it sort all of them by
length. Both are measured in turns, `--rounds` times, with the same loaded model; the best rounds are compared, because
whatever else the machine does only makes a round slower.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from server_folder import server_folder

from everthread import Settings
from everthread.cli.conversations import read_conversation
from everthread.maintenance.foreign.convert import converted
from everthread.maintenance.importing import Import, in_our_format
from everthread.maintenance.transfer import export_rows
from everthread.maintenance.transfer_format import check_file, read_body
from everthread.maintenance.transfer_lines import MessageLine
from everthread.models.bundled_weights import BUNDLED_MODEL
from everthread.models.embedding_models import load_embeddings
from everthread.models.embeddings import Embedder
from everthread.storage.archive import Archive
from everthread.storage.postgres.database import Database
from everthread.storage.user_rows import UserRows
from everthread.storage.vector_rows import chunks

REMARK = "Remark {n}: the tomatoes on the balcony need more water than the basil does in July."


def said(options: argparse.Namespace) -> list[Any]:
    if options.data is None:
        return [HumanMessage(REMARK.format(n=n) + " It is warm." * (n % 20), id=f"m{n}") for n in range(options.limit)]
    messages = read_conversation(options.data, "bench", options.conversation)
    return messages[: options.limit]


def exported(file: Path) -> list[Any]:
    with converted(file, "bench") as found:
        return [line.said() for _, line in read_body(found.file) if isinstance(line, MessageLine)]


async def prepare(folder: Path, messages: list[Any], file: Path) -> None:
    """An export file of the messages."""
    database = Database(Settings(data_dir=folder, database_schema="source"))
    await Archive(UserRows(database, "bench")).add_messages("bench", messages)
    await export_rows(UserRows(database, "bench"), file, written=lambda *_: None)
    await database.close()


async def import_seconds(folder: Path, file: Path, embedder: Embedder, number: int, *, embed: bool = True) -> float:
    settings = Settings(
        data_dir=folder, database_schema=f"target_{number}", user_id="bench", timeouts={"embedding": 600}
    )
    database = Database(settings)
    await database.open()
    started = time.perf_counter()
    async with in_our_format(file, "bench") as ready:
        work = Import(UserRows(database, "bench"), ready, await asyncio.to_thread(check_file, ready), lambda _: None)
        await (work.with_vectors(embedder) if embed else work.without_vectors())
    seconds = time.perf_counter() - started
    await database.close()
    return seconds


async def measure(folder: Path, options: argparse.Namespace) -> dict[str, Any]:
    if options.export is not None:
        file, messages = options.export, await asyncio.to_thread(exported, options.export)
    else:
        file, messages = folder / "export.jsonl", said(options)
        await prepare(folder, messages, file)
    texts = [text for m in messages if m.text.strip() for text in chunks({"text": m.text, "name": m.name})]
    model = load_embeddings(BUNDLED_MODEL)
    model.embed_documents(texts[:32])
    embedder = Embedder(BUNDLED_MODEL, model)
    bare, whole = [], []
    for number in range(options.rounds):
        started = time.perf_counter()
        await asyncio.to_thread(model.embed_documents, texts)
        bare.append(time.perf_counter() - started)
        whole.append(await import_seconds(folder, file, embedder, number))
        print(f"round {number + 1}: bare model {bare[-1]:.1f} s, import {whole[-1]:.1f} s")
    rows = await import_seconds(folder, file, embedder, options.rounds, embed=False)
    raw, imported = min(bare), min(whole)
    return {
        "messages": len(messages),
        "texts": len(texts),
        "bare_s": [round(seconds, 2) for seconds in bare],
        "import_s": [round(seconds, 2) for seconds in whole],
        "bare_messages_per_s": round(len(messages) / raw, 1),
        "import_messages_per_s": round(len(messages) / imported, 1),
        "ratio": round(raw / imported, 3),
        "without_embedding_messages_per_s": round(len(messages) / rows, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a conversation that is imported")
    parser.add_argument("--export", type=Path, help="what another product has exported")
    parser.add_argument("--conversation", help="which one, if the file holds several")
    parser.add_argument("--limit", type=int, default=1000, help="messages, at most")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="where the figures go")
    options = parser.parse_args()
    with server_folder() as folder:
        figures = asyncio.run(measure(folder, options))
    print(f"{figures['messages']} messages, {figures['texts']} texts to embed")
    print(f"bare model: {figures['bare_messages_per_s']} messages/s")
    print(f"import:     {figures['import_messages_per_s']} messages/s, {figures['ratio']:.1%} of it")
    print(f"import without embedding: {figures['without_embedding_messages_per_s']} messages/s")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
