"""The named points where tests make things die: what is listed is what the program comes by."""

import re
from pathlib import Path

from sqlqd import faults


def test_the_list_names_every_point_and_no_other() -> None:
    sources = Path(faults.__file__).parent.rglob("*.py")
    called = {
        name
        for path in sources
        for name in re.findall(r'faults\.point\("([^"]+)"\)', path.read_text("utf-8"))
    }
    assert called == faults.POINTS
