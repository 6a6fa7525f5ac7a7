"""The NumPy side of the bench: a child process that reads one JSON object a line and answers with one.

    {"do": "hello"}                                      -> {"numpy": "2.4.0"}
    {"do": "prepare", "kernel": K, "inputs": [...]}      -> {}            paths of .npy files, or numbers
    {"do": "call"}                                       -> {"seconds": S}
    {"do": "check"}  or  {"do": "check", "file": F}      -> {"error": E, "tolerance": T}
    {"do": "release"}                                    -> {}

`check` compares what the last call gave, or a file, with the same computed in float64 (integers exactly).
Errors are relative to a scale: the size that the result has by chance, such as the root of the number of terms of a
sum. What goes wrong is answered as {"failed": "why"}. Time is taken here, so that no line of the protocol is in it.
"""

import json
import sys
import time

import numpy as np

# Each takes the inputs and gives two functions: `run`, which is timed, and `reference`, which gives the right
# result, the scale of its errors, and how large they may be on that scale.
KERNELS = {}


def kernel(name):
    def register(make):
        KERNELS[name] = make
        return make

    return register


def double(x):
    return x.astype(np.float64)


@kernel("sum")
def _(xs):
    return lambda: np.sum(xs), lambda: (np.sum(xs, dtype=np.float64), np.sqrt(xs.size), 1e-3)


@kernel("dot")
def _(xs, ys):
    return lambda: np.dot(xs, ys), lambda: (np.dot(double(xs), double(ys)), np.sqrt(xs.size), 1e-3)


@kernel("mean-variance")
def _(xs):
    # One long `dot` of squares in f32 would lose the small ones; many short ones do not.
    pieces = xs.reshape(-1, int(np.gcd(xs.size, 4096)))

    def run():
        mean = np.sum(xs) / np.float32(xs.size)
        squares = np.sum(np.einsum("ij,ij->i", pieces, pieces)) / np.float32(xs.size)
        return np.array([mean, squares - mean * mean], dtype=np.float32)

    def reference():
        return np.array([np.mean(xs, dtype=np.float64), np.var(xs, dtype=np.float64)]), 1.0, 2e-5

    return run, reference


@kernel("row-sums")
def _(m):
    out = np.empty(m.shape[0], dtype=m.dtype)
    return lambda: np.sum(m, axis=1, out=out), lambda: (np.sum(m, axis=1, dtype=np.float64), np.sqrt(m.shape[1]), 1e-3)


@kernel("column-sums")
def _(m):
    out = np.empty(m.shape[1], dtype=m.dtype)
    return lambda: np.sum(m, axis=0, out=out), lambda: (np.sum(m, axis=0, dtype=np.float64), np.sqrt(m.shape[0]), 1e-3)


@kernel("transpose")
def _(m):
    out = np.empty((m.shape[1], m.shape[0]), dtype=m.dtype)

    def run():
        np.copyto(out, m.T)
        return out

    return run, lambda: (m.T, 1.0, 0.0)


@kernel("matmul")
def _(a, b):
    out = np.empty((a.shape[0], b.shape[1]), dtype=a.dtype)
    return lambda: np.matmul(a, b, out=out), lambda: (double(a) @ double(b), np.sqrt(a.shape[1]), 1e-5)


@kernel("iscan")
def _(xs):
    out = np.empty_like(xs)

    def reference():
        if xs.dtype.kind == "i":
            return np.cumsum(xs), 1.0, 0.0
        return np.cumsum(xs, dtype=np.float64), np.sqrt(xs.size), 1e-3

    return lambda: np.cumsum(xs, out=out), reference


@kernel("iota-xor")
def _(n):
    def run():
        xs = np.arange(n)
        xs *= 3
        return np.bitwise_xor.reduce(xs)

    def reference():
        # In pieces, and by another road than `run`.
        total = 0
        for start in range(0, n, 1 << 20):
            piece = np.arange(start, min(start + (1 << 20), n), dtype=np.int64)
            total ^= int(np.bitwise_xor.reduce(piece + piece + piece))
        return np.int64(total), 1.0, 0.0

    return run, reference


def accelerations(p, masses, block):
    """All pairs, in blocks of rows whose temporaries stay in a cache."""
    x, y, z = (np.ascontiguousarray(p[:, i]) for i in range(3))
    softening = p.dtype.type(1e-3)
    out = np.empty_like(p)
    for i in range(0, len(p), block):
        rows = slice(i, i + block)
        dx, dy, dz = x - x[rows, None], y - y[rows, None], z - z[rows, None]
        r2 = dx * dx
        r2 += dy * dy
        r2 += dz * dz
        r2 += softening
        pull = np.sqrt(r2)
        pull *= r2
        np.divide(masses, pull, out=pull)
        for axis, d in enumerate((dx, dy, dz)):
            np.einsum("ij,ij->i", pull, d, out=out[rows, axis])
    return out


@kernel("n-body")
def _(p, masses):
    def reference():
        want = accelerations(double(p), double(masses), 64)
        return want, np.max(np.abs(want), initial=0.0), 1e-4 if p.dtype == np.float32 else 1e-11

    return lambda: accelerations(p, masses, 16), reference


@kernel("digits")
def _(known, labels, unknown, truth):
    def run():
        # |k - u|² is |k|² - 2 k·u + |u|², and |u|² is the same for all k.
        score = np.sum(known * known, axis=1) - 2 * (unknown @ known.T)
        return np.mean(labels[np.argmin(score, axis=1)] == truth)

    def reference():
        nearest = [np.argmin(np.sum((double(known) - image) ** 2, axis=1)) for image in unknown]
        return np.mean(labels[nearest] == truth), 1.0, 1e-12

    return run, reference


class State:
    def __init__(self):
        self.release()

    def release(self):
        self.run = self.reference = self.result = self.wanted = None


def check(state, request):
    if state.wanted is None:
        state.wanted = state.reference()
    want, scale, tolerance = state.wanted
    got = np.load(request["file"], mmap_mode="r") if "file" in request else np.asarray(state.result)
    if got.shape != np.shape(want):
        return {"failed": f"the result's shape is {list(got.shape)} where {list(np.shape(want))} is right"}
    if got.size == 0:
        return {"error": 0.0, "tolerance": tolerance}
    if got.dtype.kind in "iu":
        error = float(np.count_nonzero(got != want))
    else:
        with np.errstate(invalid="ignore"):
            difference = float(np.max(np.abs(np.subtract(got, want, dtype=np.float64))))
        # A result that is no number is infinitely wrong, and JSON has no word for either.
        error = difference / float(scale) if difference else 0.0
        error = error if np.isfinite(error) else 1e300
    return {"error": error, "tolerance": tolerance}


def answer(state, request):
    match request["do"]:
        case "hello":
            return {"numpy": np.__version__}
        case "prepare":
            state.release()
            inputs = [np.load(i) if isinstance(i, str) else i for i in request["inputs"]]
            state.run, state.reference = KERNELS[request["kernel"]](*inputs)
            return {}
        case "call":
            start = time.perf_counter()
            state.result = state.run()
            return {"seconds": time.perf_counter() - start}
        case "check":
            return check(state, request)
        case "release":
            state.release()
            return {}
        case other:
            return {"failed": f"there is no request `{other}`"}


def main():
    state = State()
    for line in sys.stdin:
        try:
            reply = answer(state, json.loads(line))
        except Exception as e:  # whatever it is, the bench says so and goes on
            reply = {"failed": f"{type(e).__name__}: {e}"}
        print(json.dumps(reply), flush=True)


main()
