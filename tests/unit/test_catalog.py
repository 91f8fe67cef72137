"""What `journalctl -x` explains: every record that somebody may have to act upon, by names that exist."""

import re
from pathlib import Path

import pytest

from sqlqd.cli.verbs import VERBS
from sqlqd.events import ERROR, EVENTS, WARNING

CATALOG = (Path(__file__).parents[2] / "systemd" / "sqlqd.catalog").read_text(encoding="utf-8")
ENTRIES = dict(re.findall(r"^-- ([0-9a-f]{32})\n(.*?)(?=^-- |\Z)", CATALOG, re.MULTILINE | re.DOTALL))
TO_COME = {"kill"}
"""Verbs that records tell of before they are there."""


def test_every_warning_and_error_is_explained() -> None:
    wanted = {one.message_id for one in EVENTS.values() if one.level in (WARNING, ERROR)}
    assert set(ENTRIES) == wanted
    assert CATALOG.count("\n-- ") == len(ENTRIES)


@pytest.mark.parametrize("message_id", ENTRIES)
def test_an_entry_has_its_head_and_speaks_of_what_there_is(message_id: str) -> None:
    head, _, text = ENTRIES[message_id].partition("\n\n")
    assert re.fullmatch(r"Subject: [^\n.]+\nDefined-By: sqlqd", head)
    assert text.strip()
    event = next(one for one in EVENTS.values() if one.message_id == message_id)
    told = {name.upper() for name in re.findall(r"\{(\w+)", event.wording)}
    known = told | {"ATTEMPT", "REASON", "WORKER", "WORKER_PID", "JOB_ID", "QUEUE"}
    assert set(re.findall(r"@SQLQD_(\w+)@", text)) <= known
    assert set(re.findall(r"(?:^ +|\")sqlqd (\w+)", text, re.MULTILINE)) <= {*VERBS, *TO_COME}
