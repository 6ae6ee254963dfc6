"""Which item an annotator judges next: even coverage, random order, test questions."""

import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from dialeval.judgements.database import Database, answered_items, is_stopped
from dialeval.judgements.items import Item, order_key
from dialeval.judgements.project import Project

RESERVED_SECONDS = 30 * 60
"""An item that was shown counts as covered for so long, even without an answer."""


@dataclass(frozen=True)
class Progress:
    """How far an annotator is.

    Args:
        done, total (`int`):
            Items answered, and those that are answered or still to come.
        seconds_left (`float`, *optional*):
            Time for the rest, at the median speed so far.
        last (`str`, *optional*):
            The item answered last, which can be undone.
        stopped (`bool`):
            Whether the annotator failed the test questions.
    """

    done: int
    total: int
    seconds_left: float | None
    last: str | None
    stopped: bool


class Assignment:
    """Gives items to annotators.

    Args:
        database (`Database`):
            The project's file.
        project (`Project`):
            Its settings.
        items (`Mapping[str, Item]`):
            Its items, by id.
    """

    def __init__(self, database: Database, project: Project, items: Mapping[str, Item]):
        self.database, self.project, self.items = database, project, items

    def next_item(self, annotator: str) -> Item | None:
        """The item that an annotator judges now; the same one until it is answered.

        `None` where the annotator is done or was stopped.
        """
        now = time.time()
        with self.database.writing() as db:
            if is_stopped(db, annotator):
                return None
            answered = answered_items(db, annotator)
            if self._work_done(answered) >= self.project.max_items:
                return None
            coverage = self._coverage(db, annotator, now)
            open_item = self._reserved(db, annotator, answered, coverage)
            chosen = open_item or self._choose(annotator, answered, coverage)
            if chosen is None:
                return None
            db.execute(
                "INSERT INTO served VALUES (?, ?, ?) ON CONFLICT (annotator, item) "
                "DO UPDATE SET at = excluded.at",
                (annotator, chosen.id, now),
            )
        return chosen

    def _reserved(
        self, db: sqlite3.Connection, annotator: str, answered: set[str], coverage: dict[str, int]
    ) -> Item | None:
        """The item that was shown and is not answered, unless others have covered it since."""
        rows = db.execute(
            "SELECT item FROM served WHERE annotator = ? ORDER BY at DESC", (annotator,)
        )
        for (item,) in rows:
            full = coverage.get(item, 0) >= self.project.per_item and not self.items[item].test
            if item not in answered and not full:
                return self.items[item]
        return None

    def _choose(self, annotator: str, answered: set[str], coverage: dict[str, int]) -> Item | None:
        """The least covered item, at random among equals; a test question where one is due."""
        left = [item for item in self.items.values() if item.id not in answered]
        seed = str(self.project.seed)
        tests = [item for item in left if item.test]
        if tests and self._test_is_due(annotator, len(answered)):
            return min(tests, key=lambda item: order_key(seed, annotator, item.id))
        work = [
            item
            for item in left
            if not item.test
            and not item.identical
            and coverage.get(item.id, 0) < self.project.per_item
        ]
        return min(
            work,
            key=lambda item: (coverage.get(item.id, 0), order_key(seed, annotator, item.id)),
            default=None,
        )

    def _test_is_due(self, annotator: str, answered: int) -> bool:
        """One question of every block is a test question, at a position of its own."""
        every = self.project.test_every
        block, position = divmod(answered, every)
        key = order_key(str(self.project.seed), annotator, f"block {block}")
        return int.from_bytes(key, "big") % every == position

    def _coverage(self, db: sqlite3.Connection, annotator: str, now: float) -> dict[str, int]:
        """Annotators who have answered each item, or are looking at it; without this one.

        Those who were stopped do not count: the statistics leave their answers out.
        """
        rows = db.execute(
            "SELECT item, COUNT(*) FROM ("
            "SELECT annotator, item FROM answers WHERE undone IS NULL AND annotator != ? "
            "UNION SELECT annotator, item FROM served WHERE at > ? AND annotator != ?"
            ") WHERE annotator NOT IN (SELECT name FROM annotators WHERE stopped) GROUP BY item",
            (annotator, now - RESERVED_SECONDS, annotator),
        )
        return dict(rows.fetchall())

    def _work_done(self, answered: set[str]) -> int:
        return sum(not self.items[item].test for item in answered)

    def progress(self, annotator: str) -> Progress:
        """How far an annotator is."""
        now = time.time()
        with self.database.reading() as db:
            answered = answered_items(db, annotator)
            coverage = self._coverage(db, annotator, now)
            times = [
                row[0]
                for row in db.execute(
                    "SELECT MAX(seconds) FROM answers WHERE annotator = ? AND undone IS NULL "
                    "AND seconds IS NOT NULL GROUP BY item",
                    (annotator,),
                )
            ]
            row = db.execute(
                "SELECT item FROM answers WHERE annotator = ? AND undone IS NULL "
                "ORDER BY number DESC LIMIT 1",
                (annotator,),
            ).fetchone()
            stopped = is_stopped(db, annotator)
        left = sum(
            not item.test
            and not item.identical
            and item.id not in answered
            and coverage.get(item.id, 0) < self.project.per_item
            for item in self.items.values()
        )
        work = self._work_done(answered)
        left = max(0, min(left, self.project.max_items - work))
        seconds = median(times) * left if times else None
        return Progress(
            len(answered), len(answered) + left, seconds, row[0] if row else None, stopped
        )
