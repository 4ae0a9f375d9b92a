"""The installed program, run as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PROGRAM = Path(sys.executable).parent / "lowtide"


def run(*args: str | Path, **env: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("LOWTIDE_")} | env
    return subprocess.run([PROGRAM, *args], capture_output=True, text=True, timeout=120, env=environment)


def run_json(*args: str | Path, status: int = 0, **env: str) -> dict[str, Any]:
    """What it prints with --json; fails unless it exits with `status`."""
    done = run(*args, "--json", **env)
    assert done.returncode == status, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result
