"""Run a command in a pipe, and print its time, memory and output as JSON.

It imports little, since the peak of a child's memory starts at what the process that started it
had in use.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from time import perf_counter

UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes in the unit of the peak: elsewhere than on macOS it is told in kibibytes."""

if __name__ == "__main__":
    start = perf_counter()
    done = subprocess.run(sys.argv[1:], capture_output=True, encoding="utf-8", errors="replace")
    seconds = perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * UNIT
    figures = {"seconds": seconds, "peak": peak, "status": done.returncode}
    print(json.dumps({**figures, "output": done.stdout, "errors": done.stderr}))
