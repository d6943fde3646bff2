"""Tests of the installed package: ``python -m unittest discover -s tools/python/tests``."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import warpweave

ROOT = Path(__file__).resolve().parents[3]
SCENARIOS = ROOT / "scenarios"
VECTOR_ADD = SCENARIOS / "workloads/vector_add.ron"

SCENARIO = f"""Scenario(
    summary: "256 additions on the tiny machine",
    system: "{SCENARIOS}/systems/tiny.ron",
    workload: "{VECTOR_ADD}",
    overrides: {{ "workload.n": 256, "workload.block": 64 }},
)
"""

EXPERIMENT = f"""Experiment(
    summary: "Ways of the L1",
    base: "add.ron",
    sets: {{ "workload.n": 256, "workload.block": 64 }},
    workloads: {{ "add": (file: "{VECTOR_ADD}") }},
    variants: {{ "two": {{}}, "one": {{ "unit[*].l1.ways": 1 }} }},
    axes: {{ "units": Values(path: "params.units", values: [1, 2]) }},
    baseline: (variant: "two", units: "2"),
    metrics: {{ "ipc": (value: "ipc", kind: Ratio, better: Larger) }},
)
"""


class Package(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.scenario = self.folder / "add.ron"
        self.scenario.write_text(SCENARIO)

    def test_the_wheel_carries_the_program_and_its_version(self) -> None:
        self.assertTrue(Path(warpweave.program()).is_relative_to(sys.prefix))
        version = warpweave.call("--version").split()
        self.assertEqual(version[-1], warpweave.__version__)

    def test_a_run_is_a_report_with_frames(self) -> None:
        run = warpweave.run(self.scenario, threads=2, check=True)
        self.assertEqual((run.status, run.verified), ("done", True))
        self.assertEqual(run.cycles, run.report["cycles"])
        self.assertEqual(run.kernels["name"].tolist(), ["vector_add"])
        frame = run.statistics
        self.assertEqual(frame.columns.tolist(), ["component", "statistic", "value", "unit"])
        issued = frame[frame.statistic == "wavefront_instructions"]
        self.assertEqual(issued["value"].sum(), run.report["wavefront_instructions"])
        self.assertEqual(set(issued["unit"]), {"instructions"})

    def test_overrides_are_of_any_type(self) -> None:
        overrides = {"unit[*].cu.scheduler": "Gto", "unit[*].l1.ways": 1, "measure.kernels": True}
        run = warpweave.run(self.scenario, overrides)
        values = {one["path"]: one["value"] for one in run.report["overrides"]}
        self.assertEqual(values["unit[*].cu.scheduler"], "Gto")
        self.assertEqual(values["unit[*].l1.ways"], "1")
        self.assertIn("stats", run.report["kernels"][0])

    def test_a_series_has_a_row_for_each_interval(self) -> None:
        report = {"stats": {"x": {"y": {"value": [3, 4], "unit": "bytes", "interval_cycles": 50}}}}
        rows = warpweave.Run(report).statistics.values.tolist()
        self.assertEqual(rows, [["x", "y@0", 3.0, "bytes"], ["x", "y@50", 4.0, "bytes"]])

    def test_a_refusal_is_the_text_of_the_program(self) -> None:
        with self.assertRaises(warpweave.WarpweaveError) as refused:
            warpweave.run(self.scenario, {"unit[*].l1.way": 2})
        self.assertEqual(refused.exception.code, 2)
        self.assertIn("did you mean `ways`?", str(refused.exception))

    def test_a_run_that_reaches_a_limit_is_an_error_with_its_report(self) -> None:
        with self.assertRaises(warpweave.WarpweaveError) as failed:
            warpweave.run(self.scenario, {"limits.cycles": 50})
        self.assertEqual(failed.exception.code, 1)
        self.assertIn('"status": "limit"', failed.exception.output)

    def test_stored_results_are_read_back(self) -> None:
        run = warpweave.run(self.scenario, out=self.folder / "results")
        stored = warpweave.read(self.folder / "results")
        self.assertEqual(stored.cycles, run.cycles)
        self.assertTrue(stored.statistics.equals(run.statistics))

    def test_an_experiment_is_one_row_for_each_run(self) -> None:
        file, out = self.folder / "ways.ron", self.folder / "ways.results"
        file.write_text(EXPERIMENT)
        frame = warpweave.experiment(file, out, jobs=2)
        self.assertEqual(len(frame), 4)
        self.assertEqual(set(frame["variant"]), {"one", "two"})
        ipc = frame.groupby("levels.units")["metrics.ipc"].mean()
        self.assertGreater(ipc["2"], ipc["1"])
        self.assertTrue(warpweave.read(out).equals(frame))

    def test_runs_of_an_experiment_that_fail_are_kept(self) -> None:
        file, out = self.folder / "ways.ron", self.folder / "ways.results"
        file.write_text(EXPERIMENT.replace('"unit[*].l1.ways": 1', '"limits.cycles": 50'))
        with self.assertRaises(warpweave.WarpweaveError) as failed:
            warpweave.experiment(file, out)
        self.assertIn("add/one/1/0: limit", str(failed.exception))
        self.assertEqual(warpweave.read(out)["error"].dropna().tolist(), ["limit", "limit"])

    @unittest.skipIf(os.name == "nt", "signals are those of Unix")
    def test_an_interrupt_ends_the_program_and_then_python(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        # A run that keeps its files emulates first, and an interrupt then ends it at once.
        scenario, out = str(SCENARIOS / "quickstart.ron"), f"{folder.name}/out"
        endless = {"workload.steps": 100_000}
        # Python takes no interrupts where its parent ignores them, as shells do in the background.
        script = (
            "import signal, warpweave; "
            "signal.signal(signal.SIGINT, signal.default_int_handler); print('ready', flush=True); "
            f"warpweave.run({scenario!r}, {endless}, out={out!r})"
        )
        with subprocess.Popen(
            [sys.executable, "-c", script],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as python:
            self.assertEqual(python.stdout.readline(), b"ready\n")
            time.sleep(1)
            python.send_signal(signal.SIGINT)
            _, error = python.communicate(timeout=60)
        self.assertIn(b"KeyboardInterrupt", error)
        # Python was the first of a group, in which nothing is left.
        with self.assertRaises(ProcessLookupError):
            os.killpg(python.pid, 0)


class Page(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)
        os.symlink(SCENARIOS, "scenarios")
        Path("add.ron").write_text(SCENARIO)
        Path("ways.ron").write_text(EXPERIMENT)

    def test_the_page_runs_and_its_search_finds_the_cheapest_good_cache(self) -> None:
        page = (ROOT / "docs/python.md").read_text()
        blocks = [rest.split("```", 1)[0] for rest in page.split("```python\n")[1:]]
        search = (ROOT / "tools/python/examples/search.py").read_text()
        self.assertEqual(search.split('"""\n\n', 1)[1], blocks[-1])
        self.assertLessEqual(len(search.splitlines()) - 2, 15)
        names: dict[str, object] = {}
        for block in blocks:
            with contextlib.redirect_stdout(io.StringIO()) as shown:
                exec(block, names)
        self.assertRegex(shown.getvalue(), r"size +16384\nmshr_entries +16\n")


if __name__ == "__main__":
    unittest.main()
