#!/usr/bin/env python3
"""Makes the .npy and .rd files in this folder from four published Python wheels; see ORIGINS.md.

    pip download --no-deps scikit-learn scikit-image skyfield-data statsmodels
    python3 make-data.py scikit_learn-*.whl scikit_image-*.whl skyfield_data-*.whl statsmodels-*.whl [FOLDER]

Needs the standard library alone: the wheels are read as zip files, nothing of them is installed.
"""

import ast
import gzip
import hashlib
import math
import pathlib
import struct
import sys
import zipfile
import zlib

TRAIN = 1500  # the first 1500 of the 1797 digits; the last 297 are the test

# What the files inside the wheels hashed to when the data here was made.
SOURCES = {
    "sklearn/datasets/data/iris.csv": "f13ffa8fdd56fd8e6c8d16d4081a3fbd3114bcd0aae4256c43205169cd9d1449",
    "sklearn/datasets/data/digits.csv.gz": "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22",
    "sklearn/datasets/data/wine_data.csv": "10e8a802908b34f86e5da8ce962f3c806694bc98450a18f61851af59f324bede",
    "skimage/data/camera.png": "b0793d2adda0fa6ae899c03989482bff9a42d3d5690fc7e3648f2795d730c23a",
    "skyfield_data/data/de421.bsp": "a20a7139da04cbc462454634918e9a9ca69127044e2cc9d4f9c16e238d2deedc",
    "statsmodels/datasets/sunspots/sunspots.csv": "f67889b1d9002cd5227f0e0ef54e35b419cdd85a31279adef6f73fb41e5c0a9b",
}
# The same of all of scikit-learn's Python files that are no tests, one after the other by their names.
SKLEARN_TEXT = "9bfbaa2a2258acae0721aa29a7ff7c9b74bc3ed9a104df0e61fe26dba0856d60"

AU = 149_597_870.7  # kilometres
DAY = 86_400.0  # seconds
GAUSS = 0.01720209895  # the square root of the Sun's mass times the constant of gravity, in AU and days

# The segments of the ephemeris that lead from the solar system's centre of mass to a body, (target, centre) by
# NAIF's numbers, and how many times as heavy as the body the Sun is, as the ephemeris DE405 has it. For the
# Earth and the Moon together that is 328900.5614, and the Earth is 81.30056 times as heavy as the Moon.
BODIES = {
    "Sun": ([(10, 0)], 1.0),
    "Mercury": ([(1, 0), (199, 1)], 6_023_600.0),
    "Venus": ([(2, 0), (299, 2)], 408_523.71),
    "Earth": ([(3, 0), (399, 3)], 328_900.5614 * 82.30056 / 81.30056),
    "Moon": ([(3, 0), (301, 3)], 328_900.5614 * 82.30056),
    "Mars": ([(4, 0), (499, 4)], 3_098_708.0),
    "Jupiter": ([(5, 0)], 1_047.3486),
    "Saturn": ([(6, 0)], 3_497.898),
    "Uranus": ([(7, 0)], 22_902.98),
    "Neptune": ([(8, 0)], 19_412.24),
    "Pluto": ([(9, 0)], 135_200_000.0),
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


def iris(wheel):
    """Rows of four measurements in centimetres; the species at the end of a row is left off."""
    lines = read(wheel, "sklearn/datasets/data/iris.csv").decode("ascii").split()[1:]
    values = [float(field) for line in lines for field in line.split(",")[:4]]
    yield "iris.npy", npy("<f8", (len(lines), 4), struct.pack(f"<{len(values)}d", *values))


def wine(wheel):
    """Rows of 13 measurements; the kind of vine, the last field of a row, is a file of its own."""
    lines = read(wheel, "sklearn/datasets/data/wine_data.csv").decode("ascii").split()[1:]
    rows = [line.split(",") for line in lines]
    values = [float(field) for row in rows for field in row[:-1]]
    labels = [int(row[-1]) for row in rows]
    width = len(rows[0]) - 1
    yield "wine.npy", npy("<f8", (len(rows), width), struct.pack(f"<{len(values)}d", *values))
    yield "wine-labels.npy", npy("<i8", (len(rows),), struct.pack(f"<{len(labels)}q", *labels))


def sunspots(wheel):
    """The number of sunspots in each year from 1700 to 2008."""
    lines = read(wheel, "statsmodels/datasets/sunspots/sunspots.csv").decode("ascii").split()[1:]
    values = [float(line.split(",")[1]) for line in lines]
    yield "sunspots.npy", npy("<f8", (len(values),), struct.pack(f"<{len(values)}d", *values))


def imported(file, text):
    """The names of what a Python file of a package imports of its package, as tuples of parts."""
    folder = file.split("/")[:-1]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (tuple(name.name.split(".")) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = folder[: len(folder) - node.level + 1] if node.level else []
            base += node.module.split(".") if node.module else []
            yield from ((*base, name.name) for name in node.names)


def imports(wheel):
    """Which part of scikit-learn imports which other: pairs of numbers, and the names that they stand for."""
    with zipfile.ZipFile(wheel) as z:
        files = sorted(
            f for f in z.namelist() if f.startswith("sklearn/") and f.endswith(".py") and "/tests/" not in f
        )
        texts = {f: z.read(f) for f in files}
    if hashlib.sha256(b"".join(texts.values())).hexdigest() != SKLEARN_TEXT:
        sys.exit(f"{wheel}: its Python files are not those that the data was made of")
    # A part is a module or a folder right below the package.
    part = {f: f.split("/")[1].removesuffix(".py") for f in files}
    names = sorted(set(part.values()) - {"__init__", "conftest"})
    pairs = {
        (part[f], target[1])
        for f, text in texts.items()
        for target in imported(f, text)
        if target[0] == "sklearn" and len(target) > 1
    }
    number = {name: k for k, name in enumerate(names)}
    links = sorted((number[a], number[b]) for a, b in pairs if a != b and a in number and b in number)
    flat = [end for link in links for end in link]
    yield "imports.npy", npy("<i8", (len(links), 2), struct.pack(f"<{len(flat)}q", *flat))
    width = max(map(len, names))
    rows = "\n ".join(f'"{name:{width}}"' for name in names)
    yield "imports-names.rd", f"[{rows}]\n".encode("ascii")


def segments(spk):
    """The segments of a JPL ephemeris by (target, centre): SPK files keep them in a chain of summaries."""
    (record,) = struct.unpack_from("<I", spk, 76)
    found = {}
    while record:
        following, _, count = struct.unpack_from("<3d", spk, 1024 * (record - 1))
        for k in range(int(count)):
            at = 1024 * (record - 1) + 24 + 40 * k
            target, centre, _, kind, start, end = struct.unpack_from("<6i", spk, at + 16)
            assert kind == 2, "Chebyshev polynomials of positions are expected"
            found[target, centre] = start, end
        record = int(following)
    return found


def state(spk, segment, seconds):
    """Position and velocity, in kilometres and seconds, so many seconds after noon of 1 January 2000."""
    start, end = segment
    first, length, width, _ = struct.unpack_from("<4d", spk, 8 * (end - 4))
    width = int(width)
    record = struct.unpack_from(f"<{width}d", spk, 8 * (start - 1 + int((seconds - first) // length) * width))
    middle, radius = record[:2]
    x = (seconds - middle) / radius
    terms = (width - 2) // 3
    position, velocity = [], []
    for axis in range(3):
        coefficients = record[2 + axis * terms : 2 + (axis + 1) * terms]
        # The polynomials T and their slopes D: T[k+1] = 2 x T[k] - T[k-1], and its derivative.
        t, d = [1.0, x], [0.0, 1.0]
        for _ in range(terms - 2):
            d.append(2 * t[-1] + 2 * x * d[-1] - d[-2])
            t.append(2 * x * t[-1] - t[-2])
        position.append(math.fsum(c * p for c, p in zip(coefficients, t)))
        velocity.append(math.fsum(c * p for c, p in zip(coefficients, d)) / radius)
    return position, velocity


def planets(wheel):
    """The Sun, the planets, the Moon and Pluto, in astronomical units and days.

    A mass comes multiplied by the constant of gravity: for the Sun that is the square of Gauss's constant.
    """
    spk = read(wheel, "skyfield_data/data/de421.bsp")
    found = segments(spk)
    for year, days in ((2000, 0), (2001, 366)):
        positions, velocities = [], []
        for chain, _ in BODIES.values():
            states = [state(spk, found[link], days * DAY) for link in chain]
            for axis in range(3):
                positions.append(math.fsum(p[axis] for p, _ in states) / AU)
                velocities.append(math.fsum(v[axis] for _, v in states) / AU * DAY)
        shape = (len(BODIES), 3)
        yield f"planets-positions-{year}.npy", npy("<f8", shape, struct.pack(f"<{len(positions)}d", *positions))
        if year == 2000:
            yield "planets-velocities-2000.npy", npy("<f8", shape, struct.pack(f"<{len(velocities)}d", *velocities))
    masses = [GAUSS * GAUSS / ratio for _, ratio in BODIES.values()]
    yield "planets-masses.npy", npy("<f8", (len(masses),), struct.pack(f"<{len(masses)}d", *masses))


def main():
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    learn, image, sky, models = sys.argv[1:5]
    folder = pathlib.Path(sys.argv[5] if len(sys.argv) == 6 else pathlib.Path(__file__).parent)
    made = (digits(learn), camera(image), iris(learn), wine(learn), imports(learn), planets(sky), sunspots(models))
    for files in made:
        for name, content in files:
            (folder / name).write_bytes(content)
            print(hashlib.sha256(content).hexdigest(), name)


if __name__ == "__main__":
    main()
