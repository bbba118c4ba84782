"""Loads the native module, whose threads are not to spin for long while they wait.

libgomp's threads spin for milliseconds by default, and on a busy machine keep from the processor what
they wait for: a call that takes 4 ms took 100. libgomp reads how long when it is loaded, so it is told
for that moment; where another module has loaded it already, or the user has said how threads wait,
nothing is changed.
"""

import os

_TURNS = "GOMP_SPINCOUNT"

if _TURNS in os.environ or "OMP_WAIT_POLICY" in os.environ:
    from . import _native as _native
else:
    os.environ[_TURNS] = "1000"  # as the command does
    try:
        from . import _native as _native
    finally:
        del os.environ[_TURNS]
