"""A chat for many users over HTTP, with streaming: `uvicorn examples.chat_server:app` (needs fastapi and uvicorn).

curl -N -H "Authorization: Bearer ada-token" -d '{"text": "My dog is called Biscuit."}' \
    -H "Content-Type: application/json" http://127.0.0.1:8000/threads/t1/messages
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Any

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field

from everthread import EverthreadError, OverloadError, Settings, ThreadOwnershipError, open_graph, thread_id

USERS = {"ada-token": "ada", "bob-token": "bob"}  # yours: who the bearer of a token is, never what a client says


class Message(BaseModel):
    text: str = Field(min_length=1, max_length=100_000)


def signed_in(given: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]) -> str:
    if given.credentials not in USERS:
        raise HTTPException(401, "Unknown token.")
    return USERS[given.credentials]


User = Annotated[str, Depends(signed_in)]


def made(settings: Settings | None = None, **components: Any) -> FastAPI:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_graph(settings, **components) as app.state.graph:  # one for the process
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/threads/{name}/messages")
    async def answer(name: str, message: Message, user: User) -> StreamingResponse:
        async def events() -> AsyncIterator[str]:
            try:
                async for chunk, _ in app.state.graph.astream(
                    {"messages": [("user", message.text)]},
                    {"configurable": {"thread_id": thread_id(name, user)}},  # nobody else's, whatever the name
                    context={"user_id": user},
                    stream_mode="messages",
                ):
                    yield f"data: {json.dumps({'text': chunk.text})}\n\n"
            except OverloadError as error:
                yield f"data: {json.dumps({'error': str(error), 'retry_after': error.retry_after})}\n\n"
            except EverthreadError as error:  # one sentence that a user may read
                yield f"data: {json.dumps({'error': str(error)})}\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    @app.get("/threads/{name}/messages")
    async def history(name: str, user: User, before: str | None = None) -> list[dict[str, str]]:
        page = await app.state.graph.ahistory(user, thread_id(name, user), before=before, limit=50)
        return [{"id": row.id, "role": row.role, "text": row.text} for row in page]

    @app.exception_handler(ThreadOwnershipError)
    async def not_yours(_: Request, error: ThreadOwnershipError) -> JSONResponse:
        return JSONResponse({"error": str(error)}, 403)

    return app


app = made()
