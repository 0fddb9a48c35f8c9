"""The results store of a lab: SQLite by default, PostgreSQL by URL; many controllers write into it at once.

A run is one transaction, and a run that is in the store is replaced: a writer that was killed lost nothing, and whoever
repeats it stores nothing twice. The run folders remain the source of it all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from niclab.core.verdict import BenchFault

try:
    import sqlalchemy as sa
    from sqlalchemy.dialects import postgresql, sqlite
except ImportError as missing:
    raise BenchFault(
        "results store: SQLAlchemy is not installed; expected it: pip install 'niclab[store]'"
    ) from missing

FILE = "history.sqlite"
NEWEST = 200
"""Assumption: so many runs of a card have their figures on a page."""
_WRITERS_WAIT_S = 60
_CONNECT_WITHIN_S = 10
"""A server that is silent holds no run up."""
_TABLES = sa.MetaData()
_RUNS = sa.Table(
    "runs",
    _TABLES,
    sa.Column("controller", sa.Text, primary_key=True),
    sa.Column("run", sa.Text, primary_key=True),
    *(sa.Column(name, sa.Text) for name in ("card", "bench", "started", "verdict", "firmware", "driver", "system")),
    *(sa.Column(name, sa.Text) for name in ("plan", "subject", "serials")),
    sa.Column(
        "figures", sa.Text
    ),  # all of a run as JSON: nobody asks for one of them, and a row each took 125 times as long
    sa.Index("runs_of_card", "card", "started"),
)


@dataclass(frozen=True)
class StoredRun:
    """One run of the store. ``controller`` and ``run`` name it among the runs of a lab; ``serials``: of the card."""

    controller: str
    run: str
    card: str
    started: str
    verdict: str
    firmware: str
    driver: str
    system: str
    plan: str
    bench: str
    subject: str
    serials: str

    @property
    def software(self) -> str:
        """The versions that a trend must not mix."""
        return f"{self.firmware}, {self.driver}"


@dataclass(frozen=True)
class StoredFigure:
    """One figure of a run: its name with its parameters, unit and samples."""

    name: str
    unit: str
    samples: tuple[float, ...]


class ResultsStore:
    """A database of runs; its tables are made when they are missing.

    Args:
        url: URL of SQLAlchemy, such as ``postgresql+psycopg://lab@db/lab``; or the file of a SQLite database.

    Raises:
        BenchFault: The database cannot be opened.
    """

    def __init__(self, url: str | Path) -> None:
        local = isinstance(url, Path)
        with _faults(str(url) if local else "results store"):
            name = sa.URL.create("sqlite", database=str(url)) if local else sa.make_url(str(url))
            self._name = name.render_as_string(hide_password=True)
            is_sqlite = name.get_backend_name() == "sqlite"
            self._insert: Any = sqlite.insert if is_sqlite else postgresql.insert
            self._engine = sa.create_engine(name, connect_args=_within(name))
            with self._engine.begin() as connection:
                if not is_sqlite:  # two controllers may make the tables at once
                    connection.execute(sa.text("SELECT pg_advisory_xact_lock(7125)"))
                # the database looks whether it is there: others make it too
                connection.execute(sa.schema.CreateTable(_RUNS, if_not_exists=True))
                self._require_present_form(connection)
                for index in _RUNS.indexes:
                    connection.execute(sa.schema.CreateIndex(index, if_not_exists=True))

    def _require_present_form(self, connection: sa.Connection) -> None:
        found = [column["name"] for column in sa.inspect(connection).get_columns(_RUNS.name)]
        if sorted(found) != sorted(_RUNS.columns.keys()):
            raise BenchFault(
                f"{self._name}: has the form of another version, columns {', '.join(found)}; expected "
                f"{', '.join(_RUNS.columns.keys())}. Nothing is lost: rename it, or the table, and take the runs again "
                "from their folders with: niclab store fill --results FOLDER"
            )

    def put(self, run: StoredRun, figures: Sequence[StoredFigure]) -> None:
        """Take a run with its figures into the store, in the place of an earlier copy of it.

        Args:
            run: The run.
            figures: Its figures.

        Raises:
            BenchFault: The store cannot be written.
        """
        row = {each.name: getattr(run, each.name) for each in fields(run)}
        row["figures"] = json.dumps([(each.name, each.unit, each.samples) for each in figures])
        with _faults(self._name), self._engine.begin() as connection:
            keys = {"index_elements": ["controller", "run"]}
            connection.execute(self._insert(_RUNS).values(row).on_conflict_do_update(**keys, set_=row))

    def runs_of(self, card: str) -> list[StoredRun]:
        """Return the runs of a card, oldest first.

        Args:
            card: Name of the card sheet.
        """
        return self._runs(_RUNS.c.card == card)

    def runs(self) -> list[StoredRun]:
        """Return the runs of all cards, oldest first."""
        return self._runs(sa.true())

    def _runs(self, which: sa.ColumnElement[bool]) -> list[StoredRun]:
        columns = [_RUNS.c[each.name] for each in fields(StoredRun)]
        query = sa.select(*columns).where(which).order_by(_RUNS.c.started, _RUNS.c.run)
        with _faults(self._name), self._engine.connect() as connection:
            return [StoredRun(*row) for row in connection.execute(query)]

    def figures_of(self, card: str) -> Iterator[tuple[tuple[str, str], StoredFigure]]:
        """Yield the figures of the newest runs of a card: controller and run, and the figure; by name of the figure.

        Args:
            card: Name of the card sheet.
        """
        query = sa.select(_RUNS.c.controller, _RUNS.c.run, _RUNS.c.figures).where(_RUNS.c.card == card)
        query = query.order_by(_RUNS.c.started.desc(), _RUNS.c.run.desc()).limit(NEWEST)
        with _faults(self._name), self._engine.connect() as connection:
            rows = connection.execute(query).all()
        found = [
            ((row.controller, row.run), StoredFigure(name, unit, tuple(samples)))
            for row in rows
            for name, unit, samples in json.loads(row.figures)
        ]
        yield from sorted(found, key=lambda each: each[1].name)

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def _within(url: sa.URL) -> dict[str, int]:
    """Arguments of the database's driver for its deadlines; one that is not known here has its own."""
    if url.get_backend_name() == "sqlite":
        return {"timeout": _WRITERS_WAIT_S}
    return {"connect_timeout": _CONNECT_WITHIN_S} if url.get_driver_name() in ("psycopg", "psycopg2") else {}


@contextmanager
def _faults(name: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise BenchFault(f"{name}: {error}; expected the driver that its URL names to be installed") from error
    except sa.exc.SQLAlchemyError as error:
        raise BenchFault(f"{name}: {getattr(error, 'orig', None) or error}") from error
