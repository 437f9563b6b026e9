"""Generated kernels of sequential programs, in both arrangements: against NumPy and SciPy."""

import dataclasses

import numpy as np
from scipy.sparse import csgraph

from pyapsp import bulk
from pyapsp.bulk.bounds import bounds
from pyapsp.device import choose, model

rng = np.random.default_rng(0)
paths = bulk.programs()
assert set(paths) == {"bitonic_sort", "fft", "floyd_warshall", "montgomery", "prefix_sums"}
MODULUS = (1 << 61) - 1


def limbs(numbers):
    data = b"".join(int(number).to_bytes(8, "little") for number in numbers)
    return np.frombuffer(data, np.uint32).reshape(len(numbers), 2)


for arrangement in ("column", "row"):

    def run(name, arrangement=arrangement, **given):
        defines = {key: given.pop(key) for key in ("N", "BITS") if key in given}
        return bulk.load(paths[name], defines=defines, arrangement=arrangement)(**given)

    numbers = rng.integers(-50, 50, (70, 8)).astype(np.float32)
    assert np.array_equal(run("bitonic_sort", N=8, A=numbers)["A"], np.sort(numbers, axis=1))
    sums = run("prefix_sums", B=np.tile(numbers[:5], 4))["B"]
    assert np.array_equal(sums, np.cumsum(np.tile(numbers[:5], 4), axis=1))
    graphs = rng.integers(1, 100, (5, 7, 7)).astype(np.float32)
    graphs[:, range(7), range(7)] = 0
    expected = [csgraph.floyd_warshall(graph) for graph in graphs]
    assert np.array_equal(run("floyd_warshall", N=7, D=graphs)["D"], expected)
    parts = rng.normal(size=(2, 9, 8)).astype(np.float32)
    waves = run("fft", N=8, re=parts[0], im=parts[1])
    expected = np.fft.fft(parts[0] + 1j * parts[1])
    assert np.allclose(waves["re"] + 1j * waves["im"], expected, atol=1e-5)
    x, y = rng.integers(0, MODULUS, (2, 5)).tolist()
    given = {"X": limbs(x), "Y": limbs(y), "M": limbs([MODULUS] * 5)}
    found = run("montgomery", BITS=64, **given)["Z"]
    expected = [a * b * pow(2, -64, MODULUS) % MODULUS for a, b in zip(x, y, strict=True)]
    assert [int.from_bytes(row.tobytes(), "little") for row in found] == expected

device = choose(None)
for name, inputs in (("prefix_sums", {"B": sums}), ("floyd_warshall", {"D": graphs})):
    defines = {"N": 7} if name == "floyd_warshall" else {}
    translation = bulk.load(paths[name], defines=defines).translation
    assert bounds(translation, device, 12, inputs, group_size=4).computing > 0

# arranged as on a CPU, by one work-item for each block
traits = model.traits_of
model.traits_of = lambda *who: dataclasses.replace(traits(*who), scalar_groups=True)
sort = bulk.load(paths["bitonic_sort"], defines={"N": 8}, arrangement="column")
assert np.array_equal(sort(A=numbers)["A"], np.sort(numbers, axis=1))
