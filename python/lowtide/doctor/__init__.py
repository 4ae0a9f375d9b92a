"""The memory doctor: is it a leak, of what, and where.

>>> with lt.doctor.watch() as w:
...     for _ in range(20):
...         w.step()
>>> w.verdict.leak
False

From the shell, with no change to the program: ``lowtide doctor run -- python train.py``.
"""

from .watch import Verdict, Watch, check_flat, watch

__all__ = ["Verdict", "Watch", "check_flat", "watch"]
