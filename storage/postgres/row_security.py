"""The second wall: what is done in a user's name meets rows of that user only, whatever the statement asks for.

Row-level security holds for every table with a column `user_id`, forced, so that it binds the tables' owner as well. It
does not bind a superuser or a role with BYPASSRLS, as the embedded server's is: where the login is one, what is done in
a user's name is done as a role without these rights, from the start of a transaction to its end. The schema is named at
the same place. Nothing outlives the transaction, so that a pooler in transaction mode may stand in between.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, Final, NamedTuple

from psycopg import AsyncConnection, errors
from psycopg.rows import DictRow

from ...state.errors import first_line

logger = logging.getLogger(__name__)

Connection = AsyncConnection[DictRow]

IN_SCHEMA: Final = "SELECT set_config('search_path', %(search_path)s, true)"
"""Says in which schemas the names of a transaction are looked for; others may be said behind it."""

_OWN: Final = (
    f"{IN_SCHEMA}, set_config('everthread.user_id', %(user_id)s, true), "
    "set_config('everthread.member', %(member)s, true)"
)
_OWN_AS_ROLE: Final = f"{_OWN}, set_config('role', 'everthread_rows', true)"
_ACROSS: Final = f"{IN_SCHEMA}, set_config('everthread.across_users', 'on', true)"

_SCRIPTS: Final = tuple(
    (files(__package__) / name).read_text(encoding="utf-8").encode() for name in ("row_security.sql", "row_role.sql")
)

_LIFT: Final = """
DO $$ DECLARE name text; BEGIN
FOR name IN
    SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relforcerowsecurity
LOOP
    EXECUTE format('ALTER TABLE %I NO FORCE ROW LEVEL SECURITY', name);
END LOOP;
END $$"""

_STANDING: Final = """
SELECT login.rolsuper OR login.rolbypassrls AS bypasses,
       coalesce(NOT rows.rolsuper AND NOT rows.rolbypassrls AND pg_has_role(login.oid, rows.oid, 'MEMBER')
                AND has_schema_privilege(rows.oid, current_schema(), 'USAGE'), false) AS has_role,
       NOT EXISTS (SELECT FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
                   WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
                     AND a.attname = 'user_id' AND NOT (c.relrowsecurity AND c.relforcerowsecurity)) AS tables,
       NOT EXISTS (SELECT FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'v'
                       AND NOT 'security_invoker=true' = ANY(coalesce(reloptions, '{}'))) AS views
FROM pg_roles AS login LEFT JOIN pg_roles AS rows ON rows.rolname = 'everthread_rows'
WHERE login.rolname = current_user"""


class Wall(NamedTuple):
    """How the second wall stands.

    Attributes:
        stands: whether it does.
        as_role: whether what is done in a user's name is done as the role `everthread_rows`.
        search_path: our schema, and that of pgvector.
    """

    stands: bool
    as_role: bool
    search_path: str

    def scope(self, user_id: str | None, member: str | None = None) -> tuple[str, Mapping[str, Any]]:
        """The statement, with its values, that a transaction begins with: whose rows it meets (None: all users'), as
        which member of a space."""
        values = {"search_path": self.search_path}
        if user_id is None:
            return _ACROSS, values
        return (_OWN_AS_ROLE if self.as_role else _OWN), {**values, "user_id": user_id, "member": member or ""}


async def secure(connection: Connection) -> None:
    """Put the wall around what has none yet. Needs the lock of the migrations; where a right is missing, says so."""
    for script in _SCRIPTS:
        try:
            async with connection.transaction():
                await connection.execute(script, prepare=False)
        except errors.InsufficientPrivilege as error:
            logger.warning("Row-level security: %s.", first_line(error))


async def lift(connection: Connection) -> None:
    """Let the tables' owner at all rows, for migrations, until `secure`."""
    await connection.execute(_LIFT, prepare=False)


async def standing(connection: Connection, search_path: str) -> Wall:
    """How the wall stands for this login, in a transaction that has named the schemas."""
    row = await (await connection.execute(_STANDING)).fetchone() or {}
    as_role = bool(row["bypasses"] and row["has_role"])
    stands = bool(row["tables"] and (not row["bypasses"] or (as_role and row["views"])))
    return Wall(stands, as_role, search_path)


def warn(wall: Wall) -> None:
    """Say in the log that the wall does not stand, where that is so."""
    if not wall.stands:
        logger.warning(
            "Row-level security does not keep users apart in this database: the login does not own the tables, or "
            "passes policies by and may not use the role everthread_rows. See docs/row-security.md."
        )
