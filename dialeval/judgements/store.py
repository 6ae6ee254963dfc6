"""Judgements in SQLite: every answer is on disk before the next item is shown."""

import json
import os
import secrets
import sqlite3
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from dialeval.errors import BadInput
from dialeval.files import remove_leftovers
from dialeval.judgements.assignment import Assignment
from dialeval.judgements.database import SCHEMA, Database, answered_items, is_stopped
from dialeval.judgements.identities import Identities
from dialeval.judgements.items import Item, check_items
from dialeval.judgements.project import Project
from dialeval.judgements.tables import IDENTICAL, Judgement
from dialeval.saved import expecting

_IMPORTED = "import:"


class JudgementStore:
    """The database of an annotation project.

    Args:
        path (`Path` or `str`):
            An existing file, made by [`JudgementStore.create`].
    """

    def __init__(self, path: Path | str):
        self.path = Path(path)
        self.database = Database(self.path)
        if not self.path.is_file():
            hint = "Make a project first: dialeval annotate ITEMS --task real"
            raise BadInput("there is no annotation project here.", self.path, hint=hint)
        try:
            with self.database.reading() as db:
                meta = dict(db.execute("SELECT key, value FROM meta"))
                rows = db.execute("SELECT body FROM items ORDER BY position").fetchall()
        except sqlite3.DatabaseError as error:
            raise BadInput(f"expected an annotation project, but {error}.", self.path) from None
        with expecting("an annotation project", self.path):
            self.project = Project.from_dict(json.loads(meta["project"]))
            items = (Item.from_dict(json.loads(row[0])) for row in rows)
            self.items = {item.id: item for item in items}
            secret = bytes.fromhex(meta["secret"])
        self.identities = Identities(self.database, secret)
        self.assignment = Assignment(self.database, self.project, self.items)

    @classmethod
    def create(
        cls, path: Path | str, project: Project, items: Iterable[Item], secret: str = ""
    ) -> "JudgementStore":
        """A new project, or the one that is there if it is the same.

        Args:
            path (`Path` or `str`):
                Where to write it; the file appears when it is complete.
            project (`Project`):
                Its settings.
            items (`Iterable[Item]`):
                Its items.
            secret (`str`, *optional*):
                Text that links and pseudonyms are made from; random by default.

        Returns:
            `JudgementStore`: Ready to serve.

        Raises:
            BadInput: Another project is there.
        """
        path, rows = Path(path), check_items(items, project.task)
        if path.exists():
            store = cls(path)
            if list(store.items.values()) != rows or store.project.task != project.task:
                hint = "Choose another --output-dir, or leave out the items to continue it."
                raise BadInput("another annotation project is here.", path, hint=hint)
            return store
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(path)
        name = f".{path.name}.{secrets.token_hex(4)}.{os.getpid()}.partial"
        partial = path.with_name(name)
        db = sqlite3.connect(partial)
        with db:
            db.executescript(SCHEMA)
            values = {"project": json.dumps(project.to_dict()), "secret": _secret(secret)}
            db.executemany("INSERT INTO meta VALUES (?, ?)", values.items())
            db.executemany(
                "INSERT INTO items VALUES (?, ?, ?)",
                [(item.id, number, json.dumps(item.to_dict())) for number, item in enumerate(rows)],
            )
        db.close()
        partial.replace(path)
        return cls(path)

    # Answers

    def answer(
        self, annotator: str, item: str, answers: Mapping[str, str], seconds: float | None = None
    ) -> bool:
        """Write the answers about an item; `False` if it has some already, which stay.

        Args:
            annotator, item (`str`):
                Who answers, and about what.
            answers (`Mapping[str, str]`):
                One per scale, in the order of the item's own candidates: `first` is its first.
            seconds (`float`, *optional*):
                Time spent, as the page measured it; never more than since the item was shown.

        Returns:
            `bool`: Whether the answers were written.

        Raises:
            BadInput: The item is unknown or was never shown, or an answer is not allowed.
        """
        self._check(item, answers)
        now = time.time()
        with self.database.writing() as db:
            row = db.execute(
                "SELECT at FROM served WHERE annotator = ? AND item = ?", (annotator, item)
            ).fetchone()
            if row is None:
                raise BadInput("this item was not shown to this annotator.")
            if item in answered_items(db, annotator):
                return False
            elapsed = now - row[0]
            spent = elapsed if seconds is None else min(max(seconds, 0.0), elapsed)
            db.executemany(
                "INSERT INTO answers (annotator, item, scale, answer, seconds, at) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                [(annotator, item, scale, value, spent, now) for scale, value in answers.items()],
            )
            if self.items[item].test:
                self._stop_if_failed(db, annotator)
        return True

    def undo(self, annotator: str, item: str) -> bool:
        """Take back the answer about an item, if it was the last one; it is shown again."""
        now = time.time()
        with self.database.writing() as db:
            row = db.execute(
                "SELECT item FROM answers WHERE annotator = ? AND undone IS NULL "
                "ORDER BY number DESC LIMIT 1",
                (annotator,),
            ).fetchone()
            if row is None or row[0] != item or is_stopped(db, annotator):
                return False
            db.execute(
                "UPDATE answers SET undone = ? WHERE annotator = ? AND item = ? AND undone IS NULL",
                (now, annotator, item),
            )
            db.execute(
                "UPDATE served SET at = ? WHERE annotator = ? AND item = ?", (now, annotator, item)
            )
        return True

    def _check(self, item: str, answers: Mapping[str, str]) -> None:
        if item not in self.items:
            raise BadInput(f"there is no item {item!r}.")
        allowed = self.project.fields
        if set(answers) != set(allowed):
            missing = ", ".join(scale or "the answer" for scale in allowed if scale not in answers)
            raise BadInput(
                f"expected an answer on every scale, but {missing or 'others'} is missing."
            )
        for scale, value in answers.items():
            if value not in allowed[scale]:
                raise BadInput(f"expected one of {', '.join(allowed[scale])}, but got {value!r}.")

    def _stop_if_failed(self, db: sqlite3.Connection, annotator: str) -> None:
        """Stop an annotator whose accuracy on test questions is too low."""
        rows = db.execute(
            "SELECT item, answer FROM answers WHERE annotator = ? AND undone IS NULL", (annotator,)
        )
        tests = [(self.items[item], answer) for item, answer in rows if self.items[item].test]
        known = [self.judged(item, answer) == item.truth for item, answer in tests if item.truth]
        enough = len(known) >= self.project.test_min
        if enough and sum(known) / len(known) < self.project.required:
            db.execute("UPDATE annotators SET stopped = 1 WHERE name = ?", (annotator,))

    def judged(self, item: Item, answer: str) -> str:
        """An answer as judgements have it: `first` is `win` of the first candidate."""
        if not self.project.is_pair:
            return answer
        return {"first": "win", "second": "lose"}.get(answer, answer)

    # Export and import

    def judgements(self) -> list[Judgement]:
        """All answers that were not undone, with pseudonyms; identical pairs are ties."""
        with self.database.reading() as db:
            rows = db.execute(
                "SELECT annotator, item, scale, answer, seconds FROM answers "
                "WHERE undone IS NULL ORDER BY number"
            ).fetchall()
        given = [self._judgement(*row) for row in rows]
        if self.project.task != "better":
            return given
        # Li et al. (2017, sec. 5.2): identical strings are assigned the same score.
        ties = [
            replace(
                self._judgement("", item.id, "", "tie", None), annotator=f"{IDENTICAL} {number}"
            )
            for item in self.items.values()
            if item.identical and not item.test
            for number in range(self.project.per_item)
        ]
        return given + ties

    def _judgement(
        self, annotator: str, key: str, scale: str, answer: str, seconds: float | None
    ) -> Judgement:
        item = self.items[key]
        value = self.judged(item, answer)
        return Judgement(
            annotator=self.identities.pseudonym(annotator),
            item=item.id,
            answer=float(value) if self.project.task == "rating" else value,
            task=self.project.task,
            scale=scale,
            system=item.candidates[0].author,
            opponent=item.candidates[1].author if self.project.is_pair else "",
            truth=item.truth,
            test=item.test,
            seconds=seconds,
        )

    def import_judgements(self, rows: Iterable[Judgement]) -> tuple[int, int]:
        """Add answers that were collected elsewhere; returns how many were new, and how many not.

        Answers of an export of this very project belong to its own annotators, and ties of replies
        with the same words are there in any case.

        Raises:
            BadInput: An item or an answer is unknown; then nothing is added.
        """
        new = known = 0
        now = time.time()
        names = {self.identities.pseudonym(name): name for name in self.identities.annotators()}
        with self.database.writing() as db:
            for row in rows:
                if not row.is_given:
                    known += 1
                    continue
                name = names.get(row.annotator, f"{_IMPORTED}{row.annotator}")
                answer = self._stored(row)
                db.execute(
                    "INSERT INTO annotators (name, created) VALUES (?, ?) ON CONFLICT DO NOTHING",
                    (name, now),
                )
                done = db.execute(
                    "INSERT INTO answers (annotator, item, scale, answer, seconds, at) "
                    "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    (name, row.item, row.scale, answer, row.seconds, now),
                ).rowcount
                new, known = new + done, known + 1 - done
        return new, known

    def _stored(self, row: Judgement) -> str:
        """An answer as the database has it."""
        answer = f"{row.answer:g}" if isinstance(row.answer, float) else row.answer
        if self.project.is_pair:
            answer = {"win": "first", "lose": "second"}.get(answer, answer)
        allowed = self.project.fields.get(row.scale)
        if row.item not in self.items or allowed is None or answer not in allowed:
            raise BadInput(
                f"the answer {row.answer!r} of {row.annotator!r} about {row.item!r} does not fit "
                "this project.",
                hint=f"Answers are {', '.join(next(iter(self.project.fields.values())))}.",
            )
        return answer


def _secret(text: str) -> str:
    """The key of links and pseudonyms in hexadecimal."""
    return sha256(text.encode()).hexdigest() if text else secrets.token_hex(32)
