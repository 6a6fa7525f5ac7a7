"""Writes the files of this folder, for tests of what remc reads: `python make.py`, with pyarrow 26, Polars 2.1 and
awkward-array 2.14."""

import datetime

import awkward as ak
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather

day = datetime.date(1970, 1, 3)
table = pa.table(
    {
        "low": pa.array([-2.5, 9.0, 0.25], pa.float64()),
        "count": pa.array([1, 2, 3], pa.int32()),
        "open": pa.array([True, False, True]),
        "town": pa.array(["Oslo", "Rome", "Zürich"]),
        "kind": pa.array(["a", "bc", "a"]).dictionary_encode(),
        "lows": pa.array([[1.0, 2.0], [], [3.0]], pa.list_(pa.float32())),
        "pair": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int64(), 2)),
        "place": pa.array([{"x": 1, "y": 2.0}, {"x": 3, "y": 4.0}, {"x": 5, "y": 6.0}]),
        "nested": pa.array([[[1], []], [], [[2, 3]]], pa.large_list(pa.list_(pa.int64()))),
        "day": pa.array([day, day, day], pa.date32()),
        "time": pa.array([7, 8, 9], pa.timestamp("us", tz="UTC")),
        "view": pa.array(["x", "a text of more than twelve bytes", ""], pa.string_view()),
        "gap": pa.array([1.5, None, 2.5]),
        "price": pa.array([1, 2, 3], pa.decimal128(10, 2)),
    }
)
# As `DataFrame.to_feather` does: compressed with LZ4.
feather.write_feather(table, "towns.feather")
with pa.ipc.new_stream("towns.arrows", table.schema) as out:
    for batch in table.to_batches(max_chunksize=2):
        out.write_batch(batch)
with pa.ipc.new_file("matrix.arrow", pa.schema([("x", pa.float32()), ("y", pa.float32())])) as out:
    out.write_table(pa.table({"x": pa.array([1.0, 3.0], pa.float32()), "y": pa.array([2.0, 4.0], pa.float32())}))
# The dictionary behind the rows, and a schema that nothing stands before.
pl.DataFrame({"low": [-2.5, 9.0], "kind": pl.Series(["a", "bc"], dtype=pl.Categorical), "lows": [[1, 2], []]}).write_ipc(
    "polars.arrow"
)
ak.to_feather(ak.Array([[1.0, 2.0], [], [3.0]]), "awkward.feather")
with pa.ipc.new_file("zstd.arrow", table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as out:
    out.write_table(table)
