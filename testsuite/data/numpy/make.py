"""Writes the files of this folder, as NumPy writes them: for tests of what remc reads."""
import numpy as np

table = np.arange(6, dtype=np.float32).reshape(2, 3) / 2
np.save("fortran.npy", np.asfortranarray(table))
np.save("big-endian.npy", table.astype(">f4"))
np.save("bool.npy", np.array([True, False, True]))
np.save("empty.npy", np.zeros((0, 3)))
np.save("scalar.npy", np.int64(7))
np.save("complex.npy", np.array([1j]))
two = {"xs": np.array([0.5, 1.5]), "ys": np.array([[1, 2], [3, 4]], dtype=np.int32)}
np.savez("two.npz", **two)
np.savez_compressed("two-compressed.npz", **two)
np.savez("one.npz", np.array([True, False]))
