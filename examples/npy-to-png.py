#!/usr/bin/env python3
"""Turns an .npy matrix of numbers into a grey PNG to look at.

    python3 npy-to-png.py edges.npy edges.png [--stretch]

Values are taken as 0 (black) to 255 (white) and clamped; --stretch maps the least to black and the
greatest to white instead. Needs the standard library alone.
"""

import ast
import struct
import sys
import zlib

FORMATS = {
    "b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q",
    "u1": "B", "u2": "H", "u4": "I", "u8": "Q", "f2": "e", "f4": "f", "f8": "d",
}  # fmt: skip


def read_npy(path):
    """The rows of a matrix in an .npy file."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:6] != b"\x93NUMPY":
        sys.exit(f"{path}: not an .npy file")
    size, at = ("<H", 10) if data[6] == 1 else ("<I", 12)
    (length,) = struct.unpack_from(size, data, 8)
    header = ast.literal_eval(data[at : at + length].decode("latin-1"))
    shape, descr = header["shape"], header["descr"]
    if len(shape) != 2 or descr[1:] not in FORMATS:
        sys.exit(f"{path}: a matrix of numbers is expected, found shape {shape} of {descr}")
    order = ">" if descr[0] == ">" else "<"
    height, width = shape
    values = struct.unpack_from(f"{order}{height * width}{FORMATS[descr[1:]]}", data, at + length)
    if header["fortran_order"]:
        return [values[y::height] for y in range(height)]
    return [values[y * width : (y + 1) * width] for y in range(height)]


def write_png(path, rows):
    """An 8-bit grey PNG of rows of bytes."""

    def chunk(kind, content):
        checksum = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)

    size = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    raw = b"".join(b"\0" + row for row in rows)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        file.write(chunk(b"IHDR", size) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b""))


def main():
    paths = [a for a in sys.argv[1:] if a != "--stretch"]
    if len(paths) != 2:
        sys.exit(__doc__)
    rows = read_npy(paths[0])
    if not rows or not rows[0]:
        sys.exit(f"{paths[0]}: the image is empty")
    low, scale = 0.0, 1.0
    if "--stretch" in sys.argv:
        low = min(map(min, rows))
        scale = 255.0 / ((max(map(max, rows)) - low) or 1)
    write_png(paths[1], [bytes(round(min(255, max(0, (x - low) * scale))) for x in row) for row in rows])


if __name__ == "__main__":
    main()
