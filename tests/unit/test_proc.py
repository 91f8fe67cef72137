"""Forking, signals and waiting, with real processes."""

import gc
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator

import pytest

from sqlqd import proc
from sqlqd.clock import SystemClock

CLOCK = SystemClock()


@pytest.fixture(autouse=True)
def nothing_open() -> None:
    """Stores of other tests that nobody closed and nobody uses any more: whoever forks may have none open."""
    gc.collect()


def ended(pid: int, pidfd: int) -> int:
    assert proc.wait([pidfd], CLOCK.awake() + 10, CLOCK), "the child did not end"
    os.close(pidfd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe2(os.O_CLOEXEC)
    yield read, write
    os.close(read)
    os.close(write)


@pytest.fixture
def wakeup() -> Iterator[proc.Wakeup]:
    before = {number: signal.getsignal(number) for number in proc.PARENT_SIGNALS}
    made = proc.Wakeup(proc.PARENT_SIGNALS)
    yield made
    made.close()
    for number, handler in before.items():
        signal.signal(number, handler)


def run_python(text: str) -> subprocess.CompletedProcess[str]:
    code = textwrap.dedent(text)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )


@pytest.mark.parametrize(("child", "status"), [(lambda: 0, 0), (lambda: 7, 7)])
def test_a_childs_result_is_its_exit_status(child: Callable[[], int], status: int) -> None:
    assert ended(*proc.fork(child)) == status


def test_an_exception_ends_the_child_and_not_the_parents_frames(capfd: pytest.CaptureFixture[str]) -> None:
    def child() -> int:
        raise KeyError("broken")

    try:
        pid, pidfd = proc.fork(child)
    except KeyError:
        os._exit(99)
    assert ended(pid, pidfd) == proc.BUG
    assert "broken" in capfd.readouterr().err


def test_a_signal_to_a_new_child_waits_until_it_listens(pipe: tuple[int, int]) -> None:
    read, write = pipe

    def child() -> int:
        os.read(read, 1)
        wakeup = proc.Wakeup()
        return (
            0
            if proc.wait([wakeup.fd], CLOCK.awake() + 10, CLOCK) and wakeup.take() == [signal.SIGTERM]
            else 1
        )

    pid, pidfd = proc.fork(child)
    proc.send(pidfd, signal.SIGTERM)
    os.write(write, b"x")
    assert ended(pid, pidfd) == 0


def test_a_child_has_none_of_its_parents_handlers(wakeup: proc.Wakeup, pipe: tuple[int, int]) -> None:
    def child() -> int:
        proc.unblock()
        os.kill(os.getpid(), signal.SIGTERM)
        return 0

    assert ended(*proc.fork(child)) == -signal.SIGTERM
    assert signal.SIGTERM not in wakeup.take()


def test_no_fork_with_an_open_database() -> None:
    done = run_python(
        """
        import apsw
        from sqlqd import proc
        connection = apsw.Connection(":memory:")
        try:
            proc.fork(lambda: 0)
        except RuntimeError as error:
            print(error, flush=True)
        connection.close()
        pid, pidfd = proc.fork(lambda: 5)
        import os
        print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
        """
    )
    assert done.stdout.splitlines() == ["cannot fork: this process has an open database", "5"], done.stderr


def test_a_process_without_connections_does_not_import_sqlite_to_find_out() -> None:
    done = run_python(
        "from sqlqd import proc; import sys; proc.fork(lambda: 0); print('apsw' in sys.modules)"
    )
    assert done.stdout == "False\n"


def test_signals_wake_in_their_order_and_once(wakeup: proc.Wakeup) -> None:
    assert wakeup.take() == []
    signal.raise_signal(signal.SIGHUP)
    signal.raise_signal(signal.SIGTERM)
    assert proc.wait([wakeup.fd], CLOCK.awake() + 5, CLOCK) == {wakeup.fd}
    assert wakeup.take() == [signal.SIGHUP, signal.SIGTERM]
    assert wakeup.take() == []


def test_what_was_ignored_or_blocked_is_so_no_longer() -> None:
    done = run_python(
        """
        import signal, subprocess
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
        from sqlqd import proc
        print(sorted(proc.reset_dispositions()) == sorted([signal.SIGHUP, signal.SIGCHLD]))
        proc.Wakeup()
        look = ["grep", "-E", "Sig(Ign|Blk)", "/proc/self/status"]
        lines = subprocess.run(look, capture_output=True, text=True).stdout.splitlines()
        print({line.split()[1] for line in lines})
        """
    )
    assert done.stdout.splitlines() == ["True", "{'0000000000000000'}"], done.stderr


def test_closed_standard_descriptors_lead_nowhere() -> None:
    code = """
import os
from sqlqd import proc
proc.fill_standard_descriptors()
places = [os.readlink(f"/proc/self/fd/{n}") for n in (0, 1, 2)]
os.write(int(os.environ["OUT"]), repr(places).encode())
"""
    read, write = os.pipe()
    subprocess.run(
        ["/bin/sh", "-c", 'exec "$0" -c "$1" <&- >&- 2>&-', sys.executable, code],
        env={**os.environ, "OUT": str(write)},
        pass_fds=[write],
        timeout=30,
        check=True,
    )
    os.close(write)
    assert os.read(read, 1000).decode() == repr(["/dev/null"] * 3)
    os.close(read)


def test_waiting_ends_at_the_deadline_and_never_before() -> None:
    began = CLOCK.awake()
    assert proc.wait([], began + 0.02, CLOCK) == frozenset()
    assert CLOCK.awake() >= began + 0.02
    assert proc.wait([], began, CLOCK) == frozenset()
