"""Ways to spoil a file: bytes, tokens, lines, archives."""

from __future__ import annotations

import gzip
import io
import re
import zipfile
from random import Random

TOKENS = (
    *("0", "1", "-1", "+3", "007", "2147483647", "2147483648", "4294967296", "1000000000000"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775809", "9" * 20, "9" * 40),
    *("1e400", "-1e400", "1e-400", "1e12", "1.5", "nan", "inf", "-inf", "NaN", "-nan", "1_0"),
    *("0x10", "1e", "1.", ".5", "--", "a", "%", "#", "c", "p", "sp", ",", ";", '"', "'", "\\"),
    *("\0", "true", "null", "{}", "[]", "\u0663", "\u00e9", "\u2028", "\ufeff", "\U0001f600"),
    *("\udcff", "../../x", "/etc/passwd", "symmetric", "array", "pattern", "16777216", "33554433"),
)
DEEP = (b"[" * 3000, b"(" * 3000, b'{"a":' * 3000, b"9" * 5000, b"-" * 2000, b"a " * 9999)
LARGEST = 2**19
BYTES = (
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\t",
    b"\x1f\x8b",
    b"PK\x03\x04",
)


def mutated(random: Random, bases: list[bytes]) -> bytes:
    """Return one of some files, spoiled in one to four ways."""
    content = random.choice(bases)
    if random.random() < 0.0005:
        return _bomb(random, content)
    for _ in range(random.choice([1, 1, 1, 2, 3, 4])):
        if content.startswith(b"PK") and random.random() < 0.8:
            content = _archive(random, content)
        elif content.startswith(b"\x1f\x8b") and random.random() < 0.6:
            content = _compressed(random, content, bases)
        else:
            way = random.choice([_bytes, _tokens, _tokens, _lines, _cut, _splice])
            content = way(random, content, bases)[:LARGEST]
    return content


def _place(random: Random, content: bytes) -> int:
    return random.randint(0, len(content))


def _bytes(random: Random, content: bytes, bases: list[bytes]) -> bytes:
    """Change, insert or remove bytes."""
    at = _place(random, content)
    way = random.randrange(4)
    if way == 0 and at < len(content):
        return content[:at] + bytes([content[at] ^ 1 << random.randrange(8)]) + content[at + 1 :]
    if way == 1:
        piece = random.choice(DEEP if random.random() < 0.1 else BYTES)
        return content[:at] + piece + content[at:]
    if way == 2:
        return content[:at] + random.randbytes(random.randint(1, 8)) + content[at:]
    return content[:at] + content[at + random.randint(1, 8) :]


def _tokens(random: Random, content: bytes, bases: list[bytes]) -> bytes:
    """Put another word in the place of one."""
    words = list(re.finditer(rb"[\w.+-]+", content))
    token = random.choice(TOKENS).encode(errors="surrogateescape")
    if not words:
        return content + token
    # what a header says matters more than what a line says
    word = random.choice(words[:8] if random.random() < 0.4 else words)
    return content[: word.start()] + token + content[word.end() :]


def _lines(random: Random, content: bytes, bases: list[bytes]) -> bytes:
    """Repeat, drop, swap or lengthen lines."""
    lines = content.split(b"\n")
    at, other = random.randrange(len(lines)), random.randrange(len(lines))
    way = random.randrange(5)
    if way == 0:
        lines[at:at] = [lines[at]] * random.choice([1, 2, 300])
    elif way == 1:
        del lines[at]
    elif way == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif way == 3:
        lines[at] = lines[at] + b" " + lines[other]
    else:
        piece = lines[at] or b"("
        lines[at] = piece * min(random.choice([2, 50, 3000]), LARGEST // len(piece) + 1)
    return b"\n".join(lines)


def _cut(random: Random, content: bytes, bases: list[bytes]) -> bytes:
    """Truncate."""
    return content[: _place(random, content)]


def _splice(random: Random, content: bytes, bases: list[bytes]) -> bytes:
    """Go on with another file."""
    other = random.choice(bases)
    return content[: _place(random, content)] + other[_place(random, other) :]


def _compressed(random: Random, content: bytes, bases: list[bytes]) -> bytes:
    """Spoil what is inside; seldom, much of nothing."""
    try:
        inside = gzip.decompress(content)
    except (OSError, EOFError, ValueError, gzip.zlib.error):
        return _bytes(random, content, bases)
    plain = [gzip.decompress(each) for each in bases if each.startswith(b"\x1f\x8b")]
    return gzip.compress(random.choice([_bytes, _tokens, _lines])(random, inside, plain), 1)


def _bomb(random: Random, content: bytes) -> bytes:
    """Add much of nothing, in few bytes if the file is compressed."""
    if content.startswith(b"\x1f\x8b"):
        more = random.choice([b"\n", b"\0", b"1 2\n"]) * 2**25
        return gzip.compress(gzip.decompress(content) + more, 1)
    if not content.startswith(b"PK"):
        return content + random.choice([b"\n", b"\0", b"1 2\n"]) * 2**18
    file = io.BytesIO(content)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("more.npy", bytes(2**28))
    return file.getvalue()


def _archive(random: Random, content: bytes) -> bytes:
    """Spoil a member of an archive, its header, or the table of contents."""
    members = {}
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                members[name] = archive.read(name)
    except Exception:  # whatever a spoiled archive raises: spoil it further
        return _bytes(random, content, [content])
    if not members:
        return content
    name = random.choice(sorted(members))
    data = members[name]
    way = random.randrange(6)
    if way == 0:
        del members[name]
    elif way == 1:
        members[random.choice(["../../x.npy", "/etc/x.npy", "a" * 300, "é.npy", name + "x"])] = data
    elif way == 2:
        members[name] = members[random.choice(sorted(members))]
    elif way == 3:
        members[name] = _header(random, data)
    elif way == 4:
        members[name] = _cut(random, data, [])
    else:
        members[name] = _bytes(random, data, [])
    file = io.BytesIO()
    packing = random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
    with zipfile.ZipFile(file, "w", packing, compresslevel=1) as archive:
        for each, value in members.items():
            archive.writestr(each, value)
    return file.getvalue()


def _header(random: Random, data: bytes) -> bytes:
    """Let the header of an array say something else."""
    shapes = (b"()", b"(0,)", b"(1000000000000,)", b"(-1,)", b"(2, 1000000000000)", b"(1,1,1,1)")
    shapes += (b"(1000000,)", b"(3.5,)", b"(True,)", b"None", b"(" * 90, b"(99999999999999999999,)")
    types = (
        b"'|O'",
        b"'<f8'",
        b"'>i8'",
        b"'<i2'",
        b"'<U1000000'",
        b"'<c16'",
        b"'|V8'",
        b"'<M8[s]'",
    )
    types += (b"[('a','<i8')]", b"'x'", b"'|b1'", b"'<f2'", b"'<U0'", b"'<U999999999999'")
    if random.random() < 0.5:
        return re.sub(rb"\(\d*,?[ \d,]*\)", lambda _: random.choice(shapes), data, count=1)
    return re.sub(rb"'[<>|][a-zA-Z]\d+'", lambda _: random.choice(types), data, count=1)
