"""Types of array elements: one table of their bits, their spellings, and whose FLOP/s they have."""

import difflib
from dataclasses import dataclass

from .names import InputError


@dataclass(frozen=True)
class Dtype:
    """A type of elements.

    Attributes:
        name: As XLA writes it.
        bits: Of one element.
        flops: Name of the rate that chips give for a matmul of such elements; empty: none does.
        also: Other spellings.
    """

    name: str
    bits: int
    flops: str = ""
    also: tuple[str, ...] = ()


# Sources, read 2026-11: openxla/xla, xla/xla_data.proto, PrimitiveType (names and bits); numpy and jax.numpy
# scalar types; torch.dtype; names of nccl-tests, src/common.cu. Eight bits of another kind have the FLOP/s of
# fp8 only where machines multiply them: e4m3 and e5m2 of OCP 8-bit Floating Point 1.0 (2023).
TABLE = (
    Dtype("pred", 8, "", ("bool",)),
    Dtype("s2", 2, "", ("int2",)),
    Dtype("u2", 2, "", ("uint2",)),
    Dtype("s4", 4, "int4", ("int4",)),
    Dtype("u4", 4, "int4", ("uint4",)),
    Dtype("s8", 8, "int8", ("int8", "i8")),
    Dtype("u8", 8, "int8", ("uint8",)),
    Dtype("s16", 16, "", ("int16", "i16", "short")),
    Dtype("u16", 16, "", ("uint16",)),
    Dtype("s32", 32, "", ("int32", "i32", "int")),
    Dtype("u32", 32, "", ("uint32",)),
    Dtype("s64", 64, "", ("int64", "i64", "long")),
    Dtype("u64", 64, "", ("uint64",)),
    Dtype("f4e2m1fn", 4, "fp4", ("fp4", "float4_e2m1fn")),
    Dtype("f8e3m4", 8, "", ("float8_e3m4",)),
    Dtype("f8e4m3", 8, "fp8", ("float8_e4m3",)),
    Dtype("f8e4m3fn", 8, "fp8", ("fp8", "f8", "float8", "float8_e4m3fn")),
    Dtype("f8e4m3fnuz", 8, "fp8", ("float8_e4m3fnuz",)),
    Dtype("f8e4m3b11fnuz", 8, "", ("float8_e4m3b11fnuz",)),
    Dtype("f8e5m2", 8, "fp8", ("float8_e5m2",)),
    Dtype("f8e5m2fnuz", 8, "fp8", ("float8_e5m2fnuz",)),
    Dtype("f8e8m0fnu", 8, "", ("float8_e8m0fnu",)),
    Dtype("f16", 16, "fp16", ("fp16", "float16", "half")),
    Dtype("bf16", 16, "bf16", ("bfloat16",)),
    Dtype("f32", 32, "fp32", ("fp32", "float32", "float")),
    Dtype("f64", 64, "fp64", ("fp64", "float64", "double")),
    Dtype("c64", 64, "", ("complex64", "cfloat")),
    Dtype("c128", 128, "", ("complex128", "cdouble")),
)
_BY_WORD = {word: d for d in TABLE for word in (d.name, *d.also)}


def dtype(word: str) -> Dtype:
    """The type of that name.

    >>> [(dtype(w).name, dtype(w).bits) for w in ("bfloat16", "float8_e4m3fn", "complex64", "int4")]
    [('bf16', 16), ('f8e4m3fn', 8), ('c64', 64), ('s4', 4)]

    Raises:
        InputError: for a word that is none.
    """
    found = _BY_WORD.get(word)
    if found is None:
        near = difflib.get_close_matches(word.lower(), _BY_WORD, 1)
        hint = f"; did you mean {near[0]}?" if near else ";"
        names = ", ".join(d.name for d in TABLE)
        raise InputError(f"no dtype {word!r}{hint} there is: {names}, and as numpy, JAX and torch write them")
    return found


def itemsize(word: str) -> float:
    """Bytes of one element.

    >>> itemsize("bf16"), itemsize("f32"), itemsize("int4")
    (2.0, 4.0, 0.5)

    Raises:
        InputError: for a word that is no type.
    """
    return dtype(word).bits / 8
