from itertools import count, cycle

from pyapsp.profiling.benchmarks.measuring import Benchmark, Effort, measured


def test_the_shortest_time_counts():
    """Two of three runs are interrupted."""
    slower = cycle((1, 30, 30))
    benchmark = Benchmark(
        *("each", {}, "steps", 10.0),
        lambda rounds: rounds * 0.001 * next(slower),
        lambda rounds: None,
    )
    row = measured(benchmark, Effort(seconds=0.1, repeat=5))
    assert row["seconds"] == row["rounds"] * 0.001
    assert row["rate"] == 10 / 0.001
    assert row["doubling"] == 2
    assert round(row["spread"]) == 29


def test_an_interrupted_run_is_not_long_enough():
    runs = count(1)
    benchmark = Benchmark(
        *("each", {}, "steps", 1.0),
        # 1 to 3 are checks of the answer
        lambda rounds: 1.0 if next(runs) == 4 else rounds * 0.001,
        lambda rounds: None,
    )
    assert measured(benchmark, Effort(seconds=0.1, repeat=1))["rounds"] >= 100
