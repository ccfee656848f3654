"""Who may use the server, and that each has a memory of their own: `langgraph.json` beside this names it.

cd examples/studio && langgraph dev    # then Studio, or any client, with the header "Authorization: Bearer ada-token"
"""

from langgraph_sdk import Auth

from everthread.server.auth import owners_only

USERS = {"ada-token": "ada", "bob-token": "bob"}  # yours: a session, a JWT, whatever tells who asks

auth = Auth()


@auth.authenticate
async def authenticate(authorization: str | None) -> Auth.types.MinimalUserDict:
    scheme, _, token = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or token not in USERS:
        raise Auth.exceptions.HTTPException(status_code=401, detail="Send a token: Authorization: Bearer ...")
    return {"identity": USERS[token]}


owners_only(auth)  # the server's own lists, states and runs are their makers'
