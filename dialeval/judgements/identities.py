"""Annotators, their sessions and links, and the names that exports give them."""

import hmac
import secrets
import time
from collections.abc import Iterable
from hashlib import sha256

from dialeval.judgements.database import Database


class Identities:
    """Who may answer, and as whom.

    Args:
        database (`Database`):
            The project's file.
        secret (`bytes`):
            Key of all tokens and pseudonyms.
    """

    def __init__(self, database: Database, secret: bytes):
        self.database, self.secret = database, secret

    def join(self, name: str, only_new: bool = False) -> str | None:
        """The key of a new session of an annotator, who is registered if nobody has the name.

        Args:
            name (`str`):
                Who joins.
            only_new (`bool`, *optional*, defaults to `False`):
                Whether a name that somebody has already is refused: then there is no key.
        """
        key = secrets.token_urlsafe(32)
        with self.database.writing() as db:
            added = db.execute(
                "INSERT INTO annotators (name, created) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (name, time.time()),
            ).rowcount
            if only_new and not added:
                return None
            db.execute("INSERT INTO sessions VALUES (?, ?)", (_hash(key), name))
        return key

    def register(self, names: Iterable[str]) -> None:
        """Add annotators who have not joined yet."""
        with self.database.writing() as db:
            db.executemany(
                "INSERT INTO annotators (name, created) VALUES (?, ?) ON CONFLICT DO NOTHING",
                [(name, time.time()) for name in names],
            )

    def annotator_of(self, session: str) -> str | None:
        """The annotator of a session, if there is one."""
        with self.database.reading() as db:
            row = db.execute(
                "SELECT annotator FROM sessions WHERE hash = ?", (_hash(session),)
            ).fetchone()
        return row[0] if row else None

    def annotators(self) -> list[str]:
        """Names of all annotators."""
        with self.database.reading() as db:
            return [row[0] for row in db.execute("SELECT name FROM annotators ORDER BY created")]

    def token(self, name: str) -> str:
        """The secret of an annotator's personal link."""
        return self._keyed(f"annotator:{name}")[:32]

    def invitation(self) -> str:
        """The secret of the link with which anyone may join."""
        return self._keyed("invitation")[:32]

    def export_token(self) -> str:
        """The secret of the address for downloading the judgements."""
        return self._keyed("export")[:32]

    def name_of_token(self, token: str) -> str | None:
        """The annotator whose personal link has this secret."""
        secret = token.encode()  # as text, other letters than ASCII could not be compared
        names = [
            name
            for name in self.annotators()
            if hmac.compare_digest(self.token(name).encode(), secret)
        ]
        return names[0] if names else None

    def pseudonym(self, name: str) -> str:
        """The name in exports, from which the annotator cannot be recovered."""
        return self._keyed(f"pseudonym:{name}")[:12]

    def csrf(self, session: str) -> str:
        """The secret that forms of a session carry."""
        return self._keyed(f"csrf:{session}")

    def _keyed(self, text: str) -> str:
        return hmac.new(self.secret, text.encode("utf-8", "surrogatepass"), sha256).hexdigest()


def _hash(key: str) -> str:
    return sha256(key.encode()).hexdigest()
