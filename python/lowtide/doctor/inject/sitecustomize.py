"""Python imports this at start when `lowtide doctor run` put its folder first on PYTHONPATH.

Starts the agent, then hands on to the sitecustomize that would have been imported otherwise.
"""

import os
import sys


def _hand_on() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    path = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize", path)
    if spec is None or spec.loader is None:
        return
    module = module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


def _start() -> None:
    folder = os.environ.get("LOWTIDE_DOCTOR_DIR")
    if not folder or not os.path.isdir(folder):
        return
    try:
        from lowtide_doctor_agent import start

        start(folder)
    except Exception:  # a doctor that cannot look must not keep the program from running
        pass


_start()
_hand_on()
