"""The seed of the tests that try random damage: the same in every run, so that a change is judged by itself.

Other faults are tried with ``FEMB_SEED=$RANDOM python -m pytest -m slow tests/faults tests/fuzz``, and more of them of
each kind of ``tests/fuzz`` with ``FEMB_TRIES``.
"""

import os

SEED = int(os.environ.get("FEMB_SEED", 1))
# How many of each kind the slow tests of tests/fuzz try.
TRIES = int(os.environ.get("FEMB_TRIES", 300))
