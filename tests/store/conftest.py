"""The fixtures of the store's suite. Another backend joins by its name in BACKENDS."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlqd.store.base import Store
from tests.support.clocks import TwoHands
from tests.support.stores import Backend, SqliteBackend

BACKENDS = {"sqlite": SqliteBackend}


@pytest.fixture
def clock() -> TwoHands:
    return TwoHands()


@pytest.fixture(params=sorted(BACKENDS))
def backend(request: pytest.FixtureRequest, tmp_path: Path, clock: TwoHands) -> Iterator[Backend]:
    made = BACKENDS[request.param](tmp_path, clock)
    yield made
    made.close()


@pytest.fixture
def store(backend: Backend) -> Store:
    return backend.open()


@pytest.fixture
def other(backend: Backend, store: Store) -> Store:
    """A second store on the same queue."""
    return backend.open()
