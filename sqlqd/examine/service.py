"""The unit of systemd that the daemon runs in, against what the configuration asks for."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlqd.examine import Finding, note, problem
from sqlqd.printable import printable
from sqlqd.units import duration, spell

PROPERTIES = (
    *("Id", "LoadState", "Type", "NotifyAccess", "KillMode", "Restart", "TimeoutStopUSec"),
    *("NeedDaemonReload", "WatchdogUSec"),
)
"""What is asked for."""

_UNIT = re.compile(r"[A-Za-z0-9:_.\\@-]+\.service")
_ASKS_FOR_TIME = frozenset({"notify", "notify-reload"})


@dataclass(frozen=True, slots=True)
class Unit:
    """How a unit is set up."""

    name: str
    kind: str
    heard: bool
    """Whether the daemon can ask for more time."""
    kill_mode: str
    restart: str
    stop: float
    """Seconds that a stop may take; infinity: as long as it likes."""
    stale: bool
    """Whether its file was changed since systemd read it."""


def of_cgroup(text: str) -> str | None:
    """The name of the service that a process is in, by its /proc/PID/cgroup; None: it is in none."""
    for line in text.splitlines():
        parts = [part for part in line.split("/") if _UNIT.fullmatch(part)]
        # A user's own manager is a service too, and what runs by it is below.
        names = [part for part in parts if not part.startswith("user@")]
        if names:
            return names[-1]
    return None


def read(text: str) -> Unit | None:
    """What `systemctl show` printed of the properties; None: it knows of no such unit."""
    found: Mapping[str, str] = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    if found.get("LoadState") != "loaded":
        return None
    kind, access = found.get("Type", ""), found.get("NotifyAccess", "")
    return Unit(
        found.get("Id", ""),
        kind,
        heard=kind in _ASKS_FOR_TIME or access not in ("", "none"),
        kill_mode=found.get("KillMode", ""),
        restart=found.get("Restart", ""),
        stop=_seconds(found.get("TimeoutStopUSec", "infinity")),
        stale=found.get("NeedDaemonReload") == "yes",
    )


def _seconds(text: str) -> float:
    try:
        return duration(text, bare=True)
    except ValueError:
        return float("inf")


def service(unit: Unit, *, drain: float) -> Iterator[Finding]:
    """What of a unit spoils what the configuration promises. `drain`: seconds that a stop may need."""
    name = printable(unit.name)
    if not unit.heard:
        yield note(
            "unit",
            f"{name} is of Type={printable(unit.kind)}: systemd does not hear when the daemon is "
            "ready, nor what it does",
            f"`systemctl edit {name}`: Type=notify, NotifyAccess=main",
        )
        if unit.stop < drain:
            yield problem(
                "unit",
                f"{name} has TimeoutStopSec={spell(unit.stop)}, and a stop may need {spell(drain)} "
                "(drain_timeout and kill_grace): running commands are killed before their time",
                f"`systemctl edit {name}`: TimeoutStopSec={spell(drain + 10)}, or Type=notify",
            )
    if unit.kill_mode != "mixed":
        harm = {
            "control-group": "a stop ends running commands at once, together with the daemon",
            "process": "what a killed daemon leaves runs on",
            "none": "what a killed daemon leaves runs on",
        }.get(unit.kill_mode, "a stop does not end what it should")
        yield problem(
            "unit",
            f"{name} has KillMode={printable(unit.kill_mode)}: {harm}",
            f"`systemctl edit {name}`: KillMode=mixed",
        )
    if unit.restart in ("", "no", "on-success"):
        yield note(
            "unit",
            f"{name} has Restart={printable(unit.restart) or 'no'}: a daemon that dies stays dead",
            f"`systemctl edit {name}`: Restart=on-failure",
        )
    if unit.stale:
        yield note("unit", f"{name} was changed on disk since systemd read it", "`systemctl daemon-reload`")
