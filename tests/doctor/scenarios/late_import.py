# kind: flat | warm_up | mapped_files | page_cache | large
# leak: false
from pace import steps

for _ in steps(20, 0.4):
    pass
import decimal  # noqa: E402
import email.message  # noqa: E402, F401
import http.client  # noqa: E402, F401

import numpy  # noqa: E402

for i in steps(40, 0.6):
    numpy.linalg.svd(numpy.eye(40) * i)
    decimal.Decimal(i).sqrt()
