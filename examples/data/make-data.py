#!/usr/bin/env python3
"""Makes the .npy files in this folder from two published Python wheels; see ORIGINS.md.

    pip download --no-deps scikit-learn scikit-image
    python3 make-data.py scikit_learn-*.whl scikit_image-*.whl [FOLDER]

Needs the standard library alone: the wheels are read as zip files, nothing of them is installed.
"""

import gzip
import hashlib
import pathlib
import struct
import sys
import zipfile
import zlib

TRAIN = 1500  # the first 1500 of the 1797 digits; the last 297 are the test

# What the files inside the wheels hashed to when the data here was made.
SOURCES = {
    "sklearn/datasets/data/digits.csv.gz": "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22",
    "skimage/data/camera.png": "b0793d2adda0fa6ae899c03989482bff9a42d3d5690fc7e3648f2795d730c23a",
}


def read(wheel, member):
    """A file of a wheel, which must be the one that the data here was made of."""
    with zipfile.ZipFile(wheel) as z:
        content = z.read(member)
    if hashlib.sha256(content).hexdigest() != SOURCES[member]:
        sys.exit(f"{wheel}: {member} is not the file that the data was made of")
    return content


def npy(descr, shape, data):
    """The bytes of an .npy file, format version 1.0."""
    dims = ", ".join(map(str, shape)) + ("," if len(shape) == 1 else "")
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("ascii") + data


def digits(wheel):
    """Rows of 64 pixels (0 to 16) and a label (0 to 9)."""
    text = gzip.decompress(read(wheel, "sklearn/datasets/data/digits.csv.gz")).decode("ascii")
    rows = [[float(field) for field in line.split(",")] for line in text.split()]
    for name, part in (("train", rows[:TRAIN]), ("test", rows[TRAIN:])):
        pixels = [x for row in part for x in row[:64]]
        labels = [int(row[64]) for row in part]
        yield f"digits-{name}-images.npy", npy("<f4", (len(part), 64), struct.pack(f"<{len(pixels)}f", *pixels))
        yield f"digits-{name}-labels.npy", npy("<i8", (len(part),), struct.pack(f"<{len(labels)}q", *labels))


def png_grey(data):
    """The rows of an 8-bit grey PNG without interlacing."""
    at, packed, width = 8, b"", 0
    while at < len(data):
        (length,), kind = struct.unpack_from(">I", data, at), data[at + 4 : at + 8]
        chunk = data[at + 8 : at + 8 + length]
        at += length + 12
        if kind == b"IHDR":
            width, height, *layout = struct.unpack(">IIBBBBB", chunk)
            assert layout == [8, 0, 0, 0, 0], "an 8-bit grey image is expected"
        elif kind == b"IDAT":
            packed += chunk
    raw = zlib.decompress(packed)
    assert len(raw) == height * (width + 1)
    above = bytes(width)
    for start in range(0, len(raw), width + 1):
        method, row = raw[start], bytearray(raw[start + 1 : start + 1 + width])
        for x in range(width):
            left, up = row[x - 1] if x else 0, above[x]
            corner = above[x - 1] if x else 0
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda near: abs(guess - near))
            row[x] = row[x] + (0, left, up, (left + up) // 2, paeth)[method] & 255
        yield row
        above = row


def camera(wheel):
    """The 512 × 512 image, each 2 × 2 block averaged: small enough to run in an interpreter."""
    rows = list(png_grey(read(wheel, "skimage/data/camera.png")))
    pixels = [
        (a[x] + a[x + 1] + b[x] + b[x + 1]) / 4
        for a, b in zip(rows[::2], rows[1::2])
        for x in range(0, len(a), 2)
    ]
    shape = (len(rows) // 2, len(rows[0]) // 2)
    yield "camera.npy", npy("<f4", shape, struct.pack(f"<{len(pixels)}f", *pixels))


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[3] if len(sys.argv) == 4 else pathlib.Path(__file__).parent)
    for files in (digits(sys.argv[1]), camera(sys.argv[2])):
        for name, content in files:
            (folder / name).write_bytes(content)
            print(hashlib.sha256(content).hexdigest(), name)


if __name__ == "__main__":
    main()
