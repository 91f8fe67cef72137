"""Where figures come from, and how they get into a page."""

import os
import platform
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import apsw

from tests.bench.rows import Row

BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"
_HEADS = ("what", "measured", "against, in the same rounds", "ratio", "spread", "goal", "")


def processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))


def head() -> dict[str, str]:
    """What a figure depends on besides the program."""
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "processors": f"{processors()} of {_model()}",
        "kernel": f"Linux {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "temporary folder": _file_system(os.path.realpath(tempfile.gettempdir())),
    }


def _model() -> str:
    found = re.search(r"^model name\s*:\s*(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return found[1] if found else platform.machine()


def _file_system(folder: str) -> str:
    best, kind = "", "unknown"
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, point, name, *_ = line.split()
        inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, name
    return kind


def busy(seconds: float = 1.0) -> float:
    """Which part of the processors' time something else takes now. A load average would tell of us, too."""
    idle, total = _times()
    time.sleep(seconds)
    later_idle, later_total = _times()
    return 1.0 - (later_idle - idle) / max(1, later_total - total)


def _times() -> tuple[int, int]:
    """Idle or waiting for disks, and all, in the kernel's ticks."""
    ticks = [int(one) for one in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return ticks[3] + ticks[4], sum(ticks)


def described(known: dict[str, str]) -> str:
    """A head as one line."""
    return ", ".join(value if name == "date" else f"{name}: {value}" for name, value in known.items())


def table(
    known: dict[str, str], groups: Sequence[tuple[str, float, Sequence[Row]]], absent: Sequence[str]
) -> str:
    """The page's part that the bench writes: groups are of a name, how busy the processors were, and rows."""
    lines = [described(known) + ".", "", _line(_HEADS), _line(["---"] * len(_HEADS))]
    for _, _, rows in groups:
        lines += [_line(row.cells()) for row in rows]
    shares = ", ".join(f"{name} {share:.0%}" for name, share, _ in groups)
    lines += ["", f"How busy the processors were in the second before each group: {shares}."]
    if absent:
        lines += ["", f"Not installed, so not measured: {'; '.join(absent)}."]
    return "\n".join(lines)


def pictures(drawn: Mapping[str, Path], folder: Path) -> str:
    """Those that were drawn, by what they show, for a page in that folder."""
    found = ((title, os.path.relpath(path, folder)) for title, path in drawn.items())
    return "".join(f"\n\n![{title}]({path})" for title, path in found)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def between(page: str, text: str) -> str:
    """The page with that text between its two markers, in place of what was there."""
    if page.count(BEGIN) != 1 or page.count(END) != 1 or page.index(BEGIN) > page.index(END):
        raise ValueError(f"the page needs {BEGIN} and below it {END}, each once")
    return f"{page[: page.index(BEGIN)]}{BEGIN}\n\n{text}\n\n{page[page.index(END) :]}"
