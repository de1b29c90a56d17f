"""The seed of the tests that try random damage: the same in every run, so that a change is judged by itself.

Other faults are tried with ``FEMB_SEED=$RANDOM python -m pytest -m slow tests/faults tests/fuzz``.
"""

import os

SEED = int(os.environ.get("FEMB_SEED", 1))
