"""Imports go one way, and what is dangerous is touched in one place each."""

from pathlib import Path

import pytest

from tests.support import imports

SOURCES = imports.read(Path(__file__).parents[2] / "sqlqd")

PLANTED = [
    ("sqlqd.model", "from sqlqd.config import Config", "imports sqlqd.config, which stands above it"),
    (
        "sqlqd.model",
        "def late():\n    from sqlqd import worker",
        "imports sqlqd.worker, which stands above it",
    ),
    ("sqlqd.worker", "from . import model", "relative imports"),
    ("sqlqd.worker", "import apsw", "only store may"),
    ("sqlqd.worker", "from apsw import Connection", "only store may"),
    ("sqlqd.worker", "import subprocess", "only command may"),
    ("sqlqd.worker", "import time", "only clock may"),
    ("sqlqd.worker", "from time import monotonic", "only clock may"),
    ("sqlqd.worker", "import click", "only cli may"),
    ("sqlqd.worker", "import ctypes", "only account, steward, tree may"),
    ("sqlqd.worker", "import threading", "nobody may"),
    ("sqlqd.worker", "from concurrent.futures import ThreadPoolExecutor", "nobody may"),
    ("sqlqd.worker", "import multiprocessing.shared_memory", "nobody may"),
    ("sqlqd.worker", "def late():\n    import asyncio", "nobody may"),
    ("sqlqd.store.sqlite", "import sqlite3", "nobody may"),
    ("sqlqd", "import sqlite3", "nobody may"),
    ("sqlqd.worker", "import os\nos.fork()", "uses os.fork: only proc may"),
    ("sqlqd.worker", "from os import fork", "uses os.fork: only proc may"),
    ("sqlqd.worker", "import os\nos.system('true')", "uses os.system: nobody may"),
    (
        "sqlqd.worker",
        "import datetime\ndatetime.datetime.now(datetime.UTC)",
        "uses datetime.now: only clock may",
    ),
    ("sqlqd.parent", "from sqlqd.store.base import Store", "reaches sqlqd.store.base"),
    (
        "sqlqd.parent.plan",
        "def late():\n    import sqlqd.store.base",
        "sqlqd.parent: reaches sqlqd.store.base",
    ),
    ("sqlqd", "from sqlqd.store import sqlite", "sqlqd: loading it loads apsw"),
    ("sqlqd.units", "import sqlqd.config", "imports in a circle"),
    ("sqlqd.newcomer", "", "has no place"),
]

WORLD = {
    "sqlqd": "",
    "sqlqd.model": "",
    "sqlqd.units": "",
    "sqlqd.config": "from sqlqd import model, units",
    "sqlqd.parent.plan": "from sqlqd.model import Job",
    "sqlqd.store": "",
    "sqlqd.store.base": "from sqlqd.model import Job",
    "sqlqd.store.sqlite": "import apsw\nfrom sqlqd.store.base import Store",
    "sqlqd.worker": "from sqlqd import config",
    "sqlqd.parent": "from sqlqd.parent import plan",
    "sqlqd.cli": "import click\ndef run():\n    from sqlqd.store import sqlite",
}


def test_the_modules_keep_to_the_rules() -> None:
    assert imports.problems(SOURCES) == []


def test_the_sources_were_found() -> None:
    assert {"sqlqd", "sqlqd.model", "sqlqd.store.base"} <= SOURCES.keys()


def test_a_tidy_program_has_no_problems() -> None:
    assert imports.problems(WORLD) == []


@pytest.mark.parametrize(("module", "planted", "expected"), PLANTED)
def test_a_planted_violation_is_found(module: str, planted: str, expected: str) -> None:
    world = {**WORLD, module: f"{WORLD.get(module, '')}\n{planted}"}
    found = imports.problems(world)
    assert any(expected in problem for problem in found), found


def test_types_alone_may_be_imported_where_only_a_checker_reads_them() -> None:
    source = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import sqlite3\n"
    assert imports.problems({**WORLD, "sqlqd": source}) == []
    assert imports.problems({**WORLD, "sqlqd.worker": source}) != []
