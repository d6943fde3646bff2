"""Results of runs and experiments, as pandas data frames."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas

from ._program import call, options

_Path = str | os.PathLike[str]


@dataclass(frozen=True, repr=False)
class Run:
    """A finished run.

    ``report`` is the JSON object of the program, explained in ``docs/results.md``.
    """

    report: dict[str, Any]

    @property
    def status(self) -> str:
        """``done``, or the reason for which the run ended before its program."""
        return self.report["status"]

    @property
    def verified(self) -> bool | None:
        """True if all expected results were found; ``None`` if none were expected."""
        return self.report["verified"]

    @property
    def cycles(self) -> int:
        """Cycles of the core clock from the first launch to the last completion."""
        return self.report["cycles"]

    @property
    def ipc(self) -> float:
        """Wavefront instructions per cycle of the core clock, all units together."""
        return self.report["ipc"]

    @property
    def kernels(self) -> pandas.DataFrame:
        """One row for each launch, with the keys of ``kernels[]`` in the report as columns."""
        return pandas.DataFrame(self.report["kernels"])

    @property
    def statistics(self) -> pandas.DataFrame:
        """All statistics, with the columns ``component``, ``statistic``, ``value`` and ``unit``.

        A value is NaN if nothing was counted. A series has a row for each interval, named
        ``STATISTIC@CYCLE`` after its start.
        """
        rows = [
            (component, label, value, statistic["unit"])
            for component, statistics in self.report["stats"].items()
            for name, statistic in statistics.items()
            for label, value in _values(name, statistic)
        ]
        frame = pandas.DataFrame(rows, columns=["component", "statistic", "value", "unit"])
        return frame.astype({"value": "float64"})

    def __repr__(self) -> str:
        return f"Run({self.report['scenario']!r}, {self.status}, {self.cycles} cycles)"


def _values(name: str, statistic: Mapping[str, Any]) -> list[tuple[str, Any]]:
    value = statistic["value"]
    if not isinstance(value, list):
        return [(name, value)]
    interval = statistic["interval_cycles"]
    return [(f"{name}@{number * interval}", one) for number, one in enumerate(value)]


def run(
    scenario: _Path | None = None,
    overrides: Mapping[str, object] | None = None,
    **named: object,
) -> Run:
    """Run a scenario and return its results.

    ``overrides`` maps paths to values, as ``--set`` does: ``{"unit[*].l1.ways": 8}``. A string is
    RON text: ``"Lrr"`` is a name, ``'"Lrr"'`` a text. Further keyword arguments are options of
    ``warpweave run``: ``threads=4``, ``check=True``, ``out="results/lrr"``. A recorded trace runs
    with ``trace=`` and ``system=`` instead of a scenario.

    Raises ``WarpweaveError`` unless the whole program ran and its results are right.
    """
    sets = [f"--set={path}={_ron(value)}" for path, value in (overrides or {}).items()]
    names = [] if scenario is None else [os.fspath(scenario)]
    return Run(json.loads(call("run", "--quiet", "--format=json", *options(named), *sets, *names)))


def _ron(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_ron, value))}]"
    return str(value)


def experiment(file: _Path, out: _Path | None = None, **named: object) -> pandas.DataFrame:
    """Run what is missing of an experiment and return all its runs, as ``read`` does.

    The results go into the folder ``out``, by default the experiment's name with ``.results`` in
    the working folder. Further keyword arguments are options of ``warpweave experiment``.

    Raises ``WarpweaveError`` if a run failed or a verdict differs from the recorded one; the
    results are then complete all the same, and ``read(out)`` returns them.
    """
    folder = Path(out) if out is not None else Path(Path(file).stem + ".results")
    call("experiment", "--quiet", f"--out={folder}", *options(named), os.fspath(file))
    return _runs(folder)


def read(path: _Path) -> Run | pandas.DataFrame:
    """Return stored results: those of a run or those of an experiment.

    A results folder of ``warpweave run`` or a report in JSON gives a ``Run``. A results folder of
    ``warpweave experiment`` gives a frame with one row for each run: ``workload``, ``variant``,
    ``control``, ``pair``, ``status``, ``error``, ``cycles``, a column ``levels.AXIS`` for each
    axis, ``metrics.NAME`` for each metric (NaN if undefined), and ``parameters.PATH`` for each
    value that was set, in RON.
    """
    folder = Path(path)
    if (folder / "runs.jsonl").exists():
        return _runs(folder)
    report = folder / "report.json" if folder.is_dir() else folder
    return Run(json.loads(report.read_text(encoding="utf-8")))


def _runs(folder: Path) -> pandas.DataFrame:
    with open(folder / "runs.jsonl", encoding="utf-8") as lines:
        return pandas.json_normalize([json.loads(line) for line in lines])
