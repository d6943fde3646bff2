"""Runs the GPU simulator Warpweave and returns its results as data frames.

The wheel carries the program itself, so nothing else has to be installed.
"""

from importlib.metadata import version

from ._program import WarpweaveError, call, program
from ._results import Run, experiment, read, run

__version__ = version("warpweave")

__all__ = ["Run", "WarpweaveError", "call", "experiment", "program", "read", "run"]
