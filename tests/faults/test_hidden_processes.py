"""Where /proc hides what belongs to others (hidepid, ProtectProc=), a tree is ended as anywhere else."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.support.lone_worker import ROOT

# Process 1 there may do more than the one that looks, which is not of the group that sees all.
HIDDEN = """
mount -t proc -o hidepid=1 proc /proc || exit 99
setpriv --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all -- "$@"
exit $?
"""
NAMESPACES = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount another /proc")
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="there is no setpriv on this machine")
def test_what_may_not_be_looked_at_is_nobodys_business() -> None:
    command = [*NAMESPACES, "sh", "-c", HIDDEN, "sh", sys.executable]
    look = "import os; open('/proc/1/stat')"
    seen = subprocess.run([*command, "-c", look], capture_output=True, text=True, timeout=30, check=False)
    if seen.returncode == 99 or "unshare" in seen.stderr:
        pytest.skip(f"no /proc of one's own: {seen.stderr.strip()}")
    assert "PermissionError" in seen.stderr
    race = [*command, "-m", "tests.support.ending_race", "3", "1"]
    ended = subprocess.run(race, capture_output=True, text=True, timeout=30, check=False, cwd=ROOT)
    assert (ended.stdout, ended.returncode) == ("0\n", 0), ended.stderr
