"""The documented table of events is the program's own."""

from pathlib import Path

from sqlqd.events import EVENTS

DOCUMENT = Path(__file__).parents[2] / "docs" / "events.md"


def table() -> str:
    """The table as it has to stand in the document."""
    rows = [
        f"| `{name}` | {one.level} | `{one.message_id}` | {one.wording} |" for name, one in EVENTS.items()
    ]
    return "\n".join(["| event | level | MESSAGE_ID | what it says |", "|---|---|---|---|", *rows])


def test_the_table_is_that_of_the_program() -> None:
    assert table() in DOCUMENT.read_text(encoding="utf-8"), f"it should be:\n{table()}"
