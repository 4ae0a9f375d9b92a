# kind: page_cache
# leak: false
import os
import tempfile

from pace import SIZE, steps

with tempfile.NamedTemporaryFile(dir=os.environ.get("SCENARIO_DIR")) as file:
    for _ in steps(50):
        file.write(os.urandom(SIZE // 50))
        file.flush()
