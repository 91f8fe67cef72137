"""What is told at a glance: each kind of trouble in its own words, the grave ones first."""

from dataclasses import replace
from typing import Any

import pytest

from sqlqd.circumstances import DaemonNow, Stage
from sqlqd.model import Overview, Pause, QueueCount, WorkerSeen
from sqlqd.moments import local
from sqlqd.troubles import Trouble, troubles

NOW = 1_800_000_000.0
DAEMON = DaemonNow(77, Stage.RUNNING, "/etc/sqlqd/sqlqd.toml")
BUSY = WorkerSeen("bb", 77, 2, 502, NOW, "f00d", "mail", NOW)


def told(*queues: QueueCount, daemons: tuple[DaemonNow, ...] = (DAEMON,), **facts: Any) -> list[Trouble]:
    seen = Overview(NOW, queues, facts.pop("workers", ()), (), **facts)
    return list(troubles(seen, daemons, {"mail", "data"}, "/etc/sqlqd/sqlqd.toml", "`sqlqd run -c x`"))


def test_all_is_well() -> None:
    mail = QueueCount("mail", ready=5, scheduled=5, running=1, oldest_ready_at=NOW - 200, done_last_hour=3)
    assert told(mail, QueueCount("gone")) == []


@pytest.mark.parametrize(
    ("queue", "facts", "text", "remedy", "grave"),
    [
        (
            *({"ready": 2}, {"daemons": ()}, "no daemon is running, and 2 jobs are ready"),
            *("`sqlqd run -c x` starts one", True),
        ),
        ({}, {"daemons": ()}, "no daemon is running", "`sqlqd run -c x` starts one", True),
        (
            *({}, {"daemons": (replace(DAEMON, stage=Stage.STOPPING),)}, "the daemon is stopping"),
            *("wait until it has", False),
        ),
        (
            *(
                {},
                {"daemons": (replace(DAEMON, outdated=True),)},
                "/etc/sqlqd/sqlqd.toml was changed and not",
            ),
            *("`sqlqd check`, then `kill -HUP 77`", True),
        ),
        (
            *({}, {"daemons": (replace(DAEMON, outdated=True, hangup_stops=True),)}),
            *("/etc/sqlqd/sqlqd.toml was changed and not",),
            *("`sqlqd check`, then stop it by Ctrl-C in its terminal (or `kill 77`) and start it", True),
        ),
        (
            *({"running": 1}, {"orphaned": 1}, "1 job that counts as running is under a lease of a worker"),
            *("given out again once that is over", False),
        ),
        (
            *({"name": "mial", "ready": 1}, {}, "1 job is waiting in mial, which is not configured"),
            *("add [queues.mial] to /etc/sqlqd/sqlqd.toml", True),
        ),
        (
            *({"blocked_until": NOW + 40, "blocked_reason": "cannot start x: no such file\n"}, {}),
            *("mail is held for 40s, since its command cannot be started: x: no such file\\n",),
            *("once mended `sqlqd retry --queue mail`", True),
        ),
        (
            *({"blocked_until": NOW + 40, "blocked_reason": "2 attempts failed", "broken": True}, {}),
            *("mail is held for 40s, since 2 attempts failed",),
            *("once mended `sqlqd retry --queue mail`", True),
        ),
        (
            *({"paused_at": NOW, "ready": 3, "oldest_ready_at": NOW - 900}, {}, "mail is paused"),
            *("`sqlqd resume mail`", False),
        ),
        (
            *({"paused_at": NOW, "paused_until": NOW + 60}, {}, f"mail is paused until {local(NOW + 60)}"),
            *("`sqlqd resume mail`", False),
        ),
        (
            *({"ready": 1, "oldest_ready_at": NOW - 900}, {"pause": Pause("", NOW)}, "all queues are paused"),
            *("`sqlqd resume --all`", False),
        ),
        (
            *({"ready": 900, "oldest_ready_at": NOW - 600}, {"workers": (BUSY,)}),
            *("jobs of mail wait, of 900 that are ready the longest for 10min, with 1 of 1 workers busy",),
            *("`sqlqd why ID`", False),
        ),
        (
            *({"failed_last_hour": 7, "done_last_hour": 2}, {}),
            *(
                "7 attempts of mail failed in the last hour and 2 succeeded",
                "`sqlqd list mail`, `sqlqd show ID`; of those that are done since",
                False,
            ),
        ),
        ({"dead": 1}, {}, "1 dead job", "`sqlqd list --state dead`", False),
    ],
)
def test_each_is_told_with_what_to_do(
    queue: dict[str, Any], facts: dict[str, Any], text: str, remedy: str, *, grave: bool
) -> None:
    (trouble,) = told(QueueCount(**{"name": "mail", **queue}), **facts)
    assert trouble.text.startswith(text)
    assert trouble.remedy.startswith(remedy)
    assert trouble.grave is grave
    assert trouble.sentence.isprintable()


def test_the_grave_ones_come_first() -> None:
    found = told(QueueCount("mail", dead=2, paused_at=NOW), QueueCount("x", ready=1), daemons=())
    assert [trouble.grave for trouble in found] == [True, True, False, False]
