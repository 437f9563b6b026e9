"""The microbenchmarks, each in one round: against NumPy."""

from pyapsp.device import choose
from pyapsp.profiling.benchmarks import memory, scheduling
from pyapsp.profiling.benchmarks.arithmetic import Shape, chains
from pyapsp.profiling.benchmarks.operations import OPERATIONS

# Few groups and little memory: an interpreter takes long.
memory._LARGEST, memory._GROUP, memory._GROUPS_PER_UNIT = 2**16, 8, 1
memory._shape = lambda device: (2, 8)
scheduling._GROUP = 8
device = choose("0:0")
prepared = [
    *memory.memory(device, quick=True),
    *memory.copies(device, quick=True),
    *scheduling.scheduling(device, quick=True),
]
seen = set()
benchmarks = [prepare() for prepare in prepared]
benchmarks += [
    chains(device, OPERATIONS[name], Shape(groups=2, group=2, chains=2, steps=3), "throughput")
    for name in ("i32.add", "f32.addmin")
]
for benchmark in benchmarks:
    if benchmark.name == "barrier" and benchmark.name in seen:
        continue
    seen.add(benchmark.name)
    benchmark.run(1)
    assert benchmark.fault(1) is None, benchmark
    benchmark.close()
