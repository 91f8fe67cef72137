"""For all tests: what they may take for granted on any machine."""

import os
import sys
from pathlib import Path

# The system's sqlite3 shell where there is one, else the stand-in; and some python3.
os.environ["PATH"] = os.pathsep.join(
    [os.environ["PATH"], str(Path(__file__).parent / "support" / "bin"), str(Path(sys.executable).parent)]
)
