"""The SQLite file of an annotation project.

The journal is a write-ahead log with full synchronisation, so that a killed process or a lost power
supply loses no answer that was acknowledged. A partial unique index makes it impossible to count an
answer twice.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE items (id TEXT PRIMARY KEY, position INTEGER NOT NULL, body TEXT NOT NULL);
CREATE TABLE annotators (
    name TEXT PRIMARY KEY, created REAL NOT NULL, stopped INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE sessions (hash TEXT PRIMARY KEY, annotator TEXT NOT NULL REFERENCES annotators(name));
CREATE TABLE served (
    annotator TEXT NOT NULL REFERENCES annotators(name), item TEXT NOT NULL REFERENCES items(id),
    at REAL NOT NULL, PRIMARY KEY (annotator, item)
);
CREATE TABLE answers (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    annotator TEXT NOT NULL REFERENCES annotators(name), item TEXT NOT NULL REFERENCES items(id),
    scale TEXT NOT NULL, answer TEXT NOT NULL, seconds REAL, at REAL NOT NULL, undone REAL
);
CREATE UNIQUE INDEX answered_once ON answers (annotator, item, scale) WHERE undone IS NULL;
CREATE INDEX answers_of_items ON answers (item) WHERE undone IS NULL;
"""


class Database:
    """Connections to the file, one per block.

    Args:
        path (`Path`):
            The file.
    """

    def __init__(self, path: Path):
        self.path = path

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection for queries."""
        db = _connect(self.path)
        try:
            yield db
        finally:
            db.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction that is on disk when the block ends, or not at all."""
        db = _connect(self.path)
        try:
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        finally:
            db.close()


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=30, isolation_level=None)
    for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        try:
            db.execute(f"PRAGMA {setting}")
        except sqlite3.OperationalError:
            if "journal" not in setting:  # another connection is switching to it just now
                raise
    return db


def answered_items(db: sqlite3.Connection, annotator: str) -> set[str]:
    """Items that an annotator has answered."""
    rows = db.execute(
        "SELECT DISTINCT item FROM answers WHERE annotator = ? AND undone IS NULL", (annotator,)
    )
    return {row[0] for row in rows}


def is_stopped(db: sqlite3.Connection, annotator: str) -> bool:
    """Whether an annotator failed the test questions."""
    row = db.execute("SELECT stopped FROM annotators WHERE name = ?", (annotator,)).fetchone()
    return bool(row and row[0])
