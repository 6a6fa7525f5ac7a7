"""A Python program that uses the libraries of four entries, each printed as CUDA: see ../../book/src/cuda.md.

    python client.py FOLDER      with NAME.so and NAME.json for each of them
"""

import ctypes
import json
import sys
from pathlib import Path

import numpy as np

TYPES = ["bool", "uint32", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
         "float16", "float32", "float64"]
NAMES = dict(zip(["bool", "char", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64"], TYPES))


class Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dims", ctypes.POINTER(ctypes.c_int64)),
                ("rank", ctypes.c_int32), ("type", ctypes.c_int32)]


class Entry:
    """An entry as a function of NumPy arrays, from its library and manifest."""

    def __init__(self, folder, name):
        [self.about] = json.loads((folder / f"{name}.json").read_text())["entries"]
        self.library = ctypes.CDLL(str(folder / f"{name}.so"))
        self.library.remc_context_new.restype = ctypes.c_void_p
        self.library.remc_error.restype = ctypes.c_char_p
        self.library.remc_error.argtypes = [ctypes.c_void_p]
        self.context = self.library.remc_context_new()
        if not self.context:
            raise RuntimeError(self.library.remc_error(None).decode())

    def __call__(self, *inputs):
        arrays = [np.ascontiguousarray(x, NAMES[i["type"]]) for x, i in zip(inputs, self.about["inputs"])]
        sizes = {}
        for array, i in zip(arrays, self.about["inputs"]):
            sizes.update((d, n) for d, n in zip(i["dims"], array.shape) if isinstance(d, str))
        outputs = [np.zeros((), NAMES[o["type"]]) if o["scalar"] else Array() for o in self.about["outputs"]]
        arguments = [ctypes.c_void_p(self.context)]
        arguments += [ctypes.c_int64(sizes[s]) for s in self.about["sizes"]]
        arguments += [a.ctypes.data_as(ctypes.c_void_p) for a in arrays]
        arguments += [o.ctypes.data_as(ctypes.c_void_p) if isinstance(o, np.ndarray) else ctypes.byref(o)
                      for o in outputs]
        if getattr(self.library, self.about["function"])(*arguments) != 0:
            raise RuntimeError(self.library.remc_error(self.context).decode())
        return [self.taken(o) if isinstance(o, Array) else o[()] for o in outputs]

    def taken(self, array):
        """A copy of a result, which is freed."""
        shape = tuple(array.dims[: array.rank])
        copy = np.empty(shape, TYPES[array.type])
        ctypes.memmove(copy.ctypes.data, array.data, copy.nbytes)
        self.library.remc_array_free(ctypes.byref(array))
        return copy


folder = Path(sys.argv[1])
random = np.random.default_rng(1)

xs, ys = random.random(12345), random.random(12345)
[product] = Entry(folder, "dot")(xs, ys)
assert abs(product - xs @ ys) < 1e-9 * abs(product), product

table = random.random((1000, 7), dtype=np.float32)
means, variances = Entry(folder, "columns")(table)
assert np.allclose(means, table.mean(0), rtol=1e-5) and np.allclose(variances, table.var(0), rtol=1e-4)
assert means.dtype == np.float32 and means.shape == (7,)

points, to = random.random((500, 3)), random.random(3)
least, which = Entry(folder, "nearest")(points, to)
distances = ((points - to) ** 2).sum(1)
assert which == distances.argmin() and abs(least - distances.min()) < 1e-12

quotients = Entry(folder, "quotients")
try:
    quotients([1, 2, 3], [1, 0, 1])
    raise SystemExit("a division by zero went unseen")
except RuntimeError as stopped:
    print(stopped)
assert quotients([7, -7], [2, 2])[0].tolist() == [3, -4]
print("as NumPy says")
