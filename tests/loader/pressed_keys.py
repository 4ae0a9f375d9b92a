"""A loop over a loader in which Ctrl-C is pressed again and again."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any


def loop_to_the_end(loader: Any, take: Callable[[Any], object]) -> int:
    """How often the key was pressed until the loop got to its end."""
    presses, after = 0, 0.01
    while True:
        taken, ended = 0, False
        key = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
        try:
            key.start()
            for batch in loader:
                take(batch)
                taken += 1
                time.sleep(0.001)
            ended = True
            key.cancel()
            key.join()
        except KeyboardInterrupt:
            presses += 1
            key.join()
            ended = loader.state_dict()["ended"]  # pressed behind the last batch
        if ended:
            return presses
        if taken == 0:  # a machine that is too busy to get anywhere in that time
            after *= 2
