"""The programs that come with the package: against the C compiler, NumPy and whole numbers."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest
from scipy.sparse import csgraph

from pyapsp.bulk import load, programs

PROGRAMS = programs()
ARRANGEMENTS = ["column", "row"]


@pytest.fixture(scope="module")
def executable(tmp_path_factory):
    """The programs with their own main, compiled once: bytes in, bytes out."""
    made, folder = {}, tmp_path_factory.mktemp("programs")

    def run(name, data, **defines):
        key = name, *defines.items()
        if key not in made:
            target = made[key] = folder / f"{name}{len(made)}"
            macros = [f"-D{macro}={value}" for macro, value in defines.items()]
            command = ["gcc", "-O2", "-Wall", "-Werror", "-Wno-unknown-pragmas", *macros]
            subprocess.run([*command, "-o", target, PROGRAMS[name], "-lm"], check=True)
        return subprocess.run([made[key]], input=data, stdout=subprocess.PIPE, check=True).stdout

    return run


def test_they_are_listed():
    assert set(PROGRAMS) == {
        "bitonic_sort",
        "fft",
        "floyd_warshall",
        "montgomery",
        "prefix_sums",
    }
    assert all(path.is_file() for path in PROGRAMS.values())


@pytest.mark.every(3)
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize(("n", "p"), [(1, 5), (2, 64), (32, 63), (32, 300), (128, 65)])
def test_bitonic_sort(n, p, arrangement, device, executable):
    numbers = np.random.default_rng(n + p).integers(-50, 50, (p, n)).astype(np.float32)
    program = load(
        PROGRAMS["bitonic_sort"], defines={"N": n}, device=device, arrangement=arrangement
    )
    found = program(A=numbers)["A"]
    np.testing.assert_array_equal(found, np.sort(numbers, axis=1))
    compiled = executable("bitonic_sort", numbers.tobytes(), N=n)
    assert found.tobytes() == compiled


@pytest.mark.every(2)
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize(("n", "p"), [(1, 3), (2, 5), (16, 200), (37, 33)])
def test_floyd_warshall(n, p, arrangement, device, executable):
    rng = np.random.default_rng(n)
    graphs = rng.integers(1, 100, (p, n, n)).astype(np.float32)
    graphs[rng.random(graphs.shape) < 0.7] = np.inf
    graphs[:, range(n), range(n)] = 0
    program = load(
        PROGRAMS["floyd_warshall"], defines={"N": n}, device=device, arrangement=arrangement
    )
    found = program(D=graphs)["D"]
    expected = [csgraph.floyd_warshall(csgraph.csgraph_from_dense(g, np.inf)) for g in graphs]
    np.testing.assert_array_equal(found, expected)
    compiled = executable("floyd_warshall", graphs.tobytes(), N=n)
    assert found.tobytes() == compiled


def limbs(numbers, bits):
    data = b"".join(number.to_bytes(bits // 8, "little") for number in numbers)
    return np.frombuffer(data, np.uint32).reshape(len(numbers), bits // 32)


@pytest.mark.every(2)
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("bits", [32, 64, 512, 1056])
def test_montgomery(bits, arrangement, device, executable):
    rng = np.random.default_rng(bits)
    modulus = [int.from_bytes(rng.bytes(bits // 8), "little") | 1 for _ in range(40)]
    modulus += [2**bits - 1, 2**bits - 1, 1, 3]
    x = [int.from_bytes(rng.bytes(bits // 8), "little") % m for m in modulus]
    y = [int.from_bytes(rng.bytes(bits // 8), "little") % m for m in modulus]
    x[-4], y[-4] = modulus[-4] - 1, modulus[-4] - 1
    program = load(
        PROGRAMS["montgomery"], defines={"BITS": bits}, device=device, arrangement=arrangement
    )
    inputs = {name: limbs(each, bits) for name, each in (("X", x), ("Y", y), ("M", modulus))}
    found = program(**inputs)["Z"]
    expected = [
        a * b * pow(2, -bits, m) % m if m > 1 else 0 for a, b, m in zip(x, y, modulus, strict=True)
    ]
    assert [int.from_bytes(row.tobytes(), "little") for row in found] == expected
    data = b"".join(part.tobytes() for row in zip(*inputs.values(), strict=True) for part in row)
    assert executable("montgomery", data, BITS=bits) == found.tobytes()


@pytest.mark.long_loops
def test_montgomery_beyond_local_memory(device):
    """The sum becomes a global array, of which every instance has its own."""
    bits = 32 * 513
    rng = np.random.default_rng(1)
    m, x, y = (int.from_bytes(rng.bytes(bits // 8), "little") | 1 for _ in range(3))
    program = load(PROGRAMS["montgomery"], defines={"BITS": bits}, device=device)
    assert "t" in {each.name for each in program.arrays}
    found = program(X=limbs([x % m], bits), Y=limbs([y % m], bits), M=limbs([m], bits))["Z"]
    assert int.from_bytes(found.tobytes(), "little") == x * y * pow(2, -bits, m) % m


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_prefix_sums(arrangement, device, executable):
    numbers = np.random.default_rng(0).normal(size=(70, 32)).astype(np.float32)
    found = load(PROGRAMS["prefix_sums"], device=device, arrangement=arrangement)(B=numbers)["B"]
    np.testing.assert_allclose(found, np.cumsum(numbers, axis=1), rtol=1e-4, atol=1e-4)
    assert found.tobytes() == executable("prefix_sums", numbers.tobytes())


@pytest.mark.every(2)
@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
@pytest.mark.parametrize("n", [1, 2, 64])
def test_fft(n, arrangement, device, executable):
    re, im = np.random.default_rng(n).normal(size=(2, 50, n)).astype(np.float32)
    program = load(PROGRAMS["fft"], defines={"N": n}, device=device, arrangement=arrangement)
    found = program(re=re, im=im)
    expected = np.fft.fft(re + 1j * im)
    np.testing.assert_allclose(found["re"] + 1j * found["im"], expected, rtol=1e-5, atol=1e-5 * n)
    data = np.stack([re, im], axis=1)
    compiled = np.frombuffer(executable("fft", data.tobytes(), N=n), np.float32)
    both = np.stack([found["re"], found["im"]], axis=1)
    # sines differ in their last bit between libraries
    np.testing.assert_allclose(both, compiled.reshape(both.shape), rtol=0, atol=1e-6 * n)
