"""Fits the rule that chooses a strategy from a graph's mean degree and depth, and judges it on other graphs.

    warpweave experiment scenarios/experiments/graphs/reduced_rule.ron
    python3 scenarios/experiments/graphs/choice_rule.py reduced_rule.results

The rule: a mean degree above ALPHA and a depth below BETA choose warp centric; else a mean degree below 4 and a depth
of BETA and more choose data driven; else topology. ALPHA and BETA are fitted on the graphs named `train ...`: those
with the least lost time, which is the geometric mean of the time of the choice over that of the best strategy. On the
other graphs the rule stands beside each strategy alone, the best one on the mean of the training graphs, and the same
rule with every other ALPHA and BETA of the grid, its control. A choice within 2 % of the best is right.

Prints a table of all pairs with --grid. Needs nothing but Python. Works on `time` and on `time without host`.
"""

import argparse
import csv
import math
from collections import defaultdict
from pathlib import Path

ALPHAS = [2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64]
BETAS = [3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100, 150, 200, 300, 500, 1000]
STRATEGIES = ["topology", "warp centric", "data driven"]
RIGHT = 1.02


def rule(graph, alpha, beta):
    if graph["degree"] > alpha and graph["depth"] < beta:
        return "warp centric"
    if graph["degree"] < 4 and graph["depth"] >= beta:
        return "data driven"
    return "topology"


def lost(graph, strategy):
    times = graph["times"]
    return times[strategy] / min(times.values())


def judged(graphs, choose):
    """Returns the lost time (1 is none) and the share of right choices."""
    losses = [lost(graph, choose(graph)) for graph in graphs]
    mean = math.exp(sum(math.log(loss) for loss in losses) / len(losses))
    return mean, sum(loss <= RIGHT for loss in losses) / len(losses)


def read(folder, metric):
    """Reads the graphs of an experiment's results: degree, depth and times by strategy, means over the pairs."""
    rows = defaultdict(list)
    with (Path(folder) / "metrics.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            if row["value"]:
                rows[row["workload"], row["metric"], row["variant"]].append(float(row["value"]))
    graphs = defaultdict(lambda: {"times": {}})
    for (name, of, strategy), values in rows.items():
        mean = sum(values) / len(values)
        if of == metric:
            graphs[name]["times"][strategy] = mean
        elif of in ("degree", "depth") and strategy == "topology":
            graphs[name][of] = mean
    for name, graph in graphs.items():
        if set(graph["times"]) != set(STRATEGIES) or not {"degree", "depth"} <= set(graph):
            raise SystemExit(f"{folder}: `{name}` lacks a run; run the experiment to its end")
    return graphs


def report(graphs, metric, show_grid):
    train = [graph for name, graph in graphs.items() if name.startswith("train ")]
    others = {name: graph for name, graph in graphs.items() if not name.startswith("train ")}
    held_out = list(others.values())
    grid = {(a, b): judged(train, lambda g: rule(g, a, b)) for a in ALPHAS for b in BETAS}
    least = min(loss for loss, _ in grid.values())
    plateau = [pair for pair, (loss, _) in grid.items() if loss <= least * 1.000001]
    # The middle of equally good pairs, which is no end of the grid.
    alpha, beta = plateau[len(plateau) // 2]
    print(f"{metric}: {len(train)} graphs to fit, {len(held_out)} to judge")
    if show_grid:
        print("lost time on the training graphs by alpha (rows) and beta (columns)")
        print("      " + "".join(f"{b:8}" for b in BETAS))
        for a in ALPHAS:
            print(f"{a:6}" + "".join(f"{100 * (grid[a, b][0] - 1):8.1f}" for b in BETAS))
    print(f"fitted alpha {alpha}, beta {beta}; {len(plateau)} of {len(grid)} pairs lose as little: {plateau}")
    best_alone = min(STRATEGIES, key=lambda s: judged(train, lambda g: s)[0])
    by_pair = [judged(held_out, lambda g: rule(g, a, b)) for a, b in grid]
    print(f"{'':34}{'lost %, train':>14}{'lost %':>8}{'right':>7}")

    def line(name, choose):
        (on_train, _), (loss, right) = judged(train, choose), judged(held_out, choose)
        print(f"{name:34}{100 * (on_train - 1):14.1f}{100 * (loss - 1):8.1f}{right:7.2f}")

    line("the rule", lambda g: rule(g, alpha, beta))
    line("the rule, alpha 16, beta 100", lambda g: rule(g, 16, 100))
    for strategy in STRATEGIES:
        known = ", best alone on the training graphs" if strategy == best_alone else ""
        line(strategy + known, lambda g: strategy)
    losses, rights = sorted(loss for loss, _ in by_pair), sorted(right for _, right in by_pair)
    middle = len(by_pair) // 2
    print(f"{'any pair of the grid, median':48}{100 * (losses[middle] - 1):8.1f}{rights[middle]:7.2f}")
    alike = sorted(judged(held_out, lambda g: rule(g, a, b)) for a, b in plateau)
    (least, most), (worst, best) = (alike[0][0], alike[-1][0]), (alike[-1][1], alike[0][1])
    print(f"pairs that fit as well lose {100 * (least - 1):.1f} to {100 * (most - 1):.1f} % there, right {worst:.2f} to {best:.2f}")
    loss, _ = judged(held_out, lambda g: rule(g, alpha, beta))
    better = sum(other < loss for other in losses)
    print(f"{better} of {len(losses)} pairs lose less than the fitted one on the graphs to judge")
    for name, graph in others.items():
        choice = rule(graph, alpha, beta)
        best = min(graph["times"], key=graph["times"].get)
        print(
            f"  {name:16} degree {graph['degree']:6.2f} depth {graph['depth']:5.0f}"
            f"  chosen {choice:13} best {best:13} lost {100 * (lost(graph, choice) - 1):6.1f} %"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", help="folder of the results of gim_rule.ron or reduced_rule.ron")
    parser.add_argument("--grid", action="store_true", help="prints the lost time of every pair")
    arguments = parser.parse_args()
    for metric in ("time", "time without host"):
        report(read(arguments.results, metric), metric, arguments.grid)


main()
