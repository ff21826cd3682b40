"""Sizes, rates and times as people write them. Inside hopcast: bytes, seconds, bytes per second."""

import math
import re

from .dtypes import itemsize

_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)(e[+-]?\d+)?"
_SIZE = re.compile(_NUMBER + r"\s*([kmgtp]?)(i?)(b?)", re.IGNORECASE)
_RATE = re.compile(_NUMBER + r"\s*([kMGTP]?)(i?)(B|b|bit)(?:/s|ps)")
_TIME = re.compile(_NUMBER + r"\s*(ns|us|ms|s)")
_ARRAY = re.compile(r"([a-z][a-z\d_]*)\[([\d,\s]+)\]")


def size(text: str | float) -> int:
    """Bytes from text, by the rule of nccl-tests: 128M and 128MiB are powers of 1024, 128MB of 1000.

    An array is a size too.

    >>> [size(t) for t in ("8", "128M", "128MiB", "128MB", "1.5G", "1e6", "bf16[2048,2048]")]
    [8, 134217728, 134217728, 128000000, 1610612736, 1000000, 8388608]

    Raises:
        ValueError: if text is not a size above 0. ``12Mb`` is refused: it reads as megabits.
    """
    said = str(text).strip()
    found, array = _SIZE.fullmatch(said), _ARRAY.fullmatch(said)
    if array:
        dims = [int(d) for d in array[2].replace(" ", "").strip(",").split(",") if d]
        value = float(math.ceil(itemsize(array[1]) * math.prod(dims)))
    elif found and found[5] != "b" and not (found[4] and not (found[3] and found[5])):
        base = 1000.0 if found[5] and not found[4] and found[3] else 1024.0
        value = float(found[1] + (found[2] or "")) * base ** _POWER[found[3].lower()]
    else:
        raise ValueError(
            f"{said!r} is not a size; write 8, 1e6, 128M or 128MiB (x 1024), 128MB (x 1000), bf16[2048,2048]"
        )
    if not 1 <= value < 2.0**63:
        raise ValueError(f"size {said!r} is {value:g} bytes; it must be at least 1 byte and below 2^63")
    return round(value)


def rate(text: str | float) -> float:
    """Bytes per second. Prefixes are decimal (Gi is 1024^3); B is bytes, b or bit is bits.

    >>> [rate(t) for t in ("50GB/s", "400Gb/s", "400Gbps", "400Gbit/s", "50GiB/s")]
    [50000000000.0, 50000000000.0, 50000000000.0, 50000000000.0, 53687091200.0]
    """
    found = _RATE.fullmatch(str(text).strip())
    if not found or (found[4] and not found[3]):
        raise ValueError(f"{str(text)!r} is not a bandwidth; write 50GB/s (bytes) or 400Gb/s (bits)")
    value = float(found[1] + (found[2] or "")) * (1024.0 if found[4] else 1000.0) ** _POWER[found[3].lower()]
    if not 0 < value < math.inf:
        raise ValueError(f"bandwidth {str(text)!r} must be above 0 and finite")
    return value / (1 if found[5] == "B" else 8)


def seconds(text: str | float) -> float:
    """Seconds from text; a bare 0 needs no unit.

    >>> seconds("1.5us"), seconds("0")
    (1.5e-06, 0.0)
    """
    said = str(text).strip()
    found = _TIME.fullmatch("0s" if said in ("0", "0.0") else said)
    if not found:
        raise ValueError(f"{said!r} is not a time; write 5us, 1.5ms, 200ns, 2s or 0")
    value = float(f"{found[1]}{found[2] or ''}") / {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0}[found[3]]
    if value == math.inf:
        raise ValueError(f"time {said!r} must be finite")
    return value


def show_size(value: float) -> str:
    """Bytes for people: the exact power of 1024 where there is one, else decimal.

    >>> show_size(8388608), show_size(1e9), show_size(45000), show_size(12)
    ('8 MiB', '1 GB', '45 kB', '12 B')
    """
    for power, unit in ((5, "Pi"), (4, "Ti"), (3, "Gi"), (2, "Mi"), (1, "Ki")):
        count = value / 1024**power
        if 1 <= count < 8192 and (count.is_integer() or (count < 64 and (2 * count).is_integer())):
            return f"{count:g} {unit}B"
    for power, unit in ((5, "P"), (4, "T"), (3, "G"), (2, "M"), (1, "k")):
        if value >= 1000**power:
            return f"{value / 1000**power:.4g} {unit}B"
    return f"{value:g} B"


def show_both(value: float) -> str:
    """Bytes for people; where that is rounded, in powers of 1000 and of 1024.

    >>> show_both(8388608), show_both(1e9), show_both(4027025408)
    ('8 MiB', '1 GB', '4.027 GB (3.75 GiB)')
    """
    shown = show_size(value)
    number, unit = shown.split()
    if "i" in unit or round(float(number) * 1000 ** "BkMGTP".index(unit[0])) == round(value):
        return shown
    power = min(int(math.log2(value)) // 10, 5)
    return f"{shown} ({value / 1024**power:.4g} {'KMGTP'[power - 1]}iB)"


def show_seconds(value: float) -> str:
    """Seconds for people.

    >>> show_seconds(9.3207e-05), show_seconds(0.3579), show_seconds(2e-9), show_seconds(0)
    ('93.21 us', '357.9 ms', '2 ns', '0 s')
    """
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")):
        if value >= scale:
            return f"{value / scale:.4g} {unit}"
    return f"{value:.4g} s"


def show_rate(value: float) -> str:
    """Bytes per second for people, decimal.

    >>> show_rate(4.5e10), show_rate(1.8e12)
    ('45 GB/s', '1.8 TB/s')
    """
    for power, unit in ((5, "P"), (4, "T"), (3, "G"), (2, "M"), (1, "k")):
        if value >= 1000**power:
            return f"{value / 1000**power:.4g} {unit}B/s"
    return f"{value:.4g} B/s"
