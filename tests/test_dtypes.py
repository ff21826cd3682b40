"""Types of array elements: spelled as XLA, numpy, JAX, torch and nccl-tests do, in sizes and in shardings."""

import numpy as np
import pytest

import hopcast as hc
from hopcast import dtypes, units
from hopcast.ir import sharding
from hopcast.names import InputError

WORDS = [(word, d) for d in dtypes.TABLE for word in (d.name, *d.also)]
each_word = pytest.mark.parametrize(("word", "kind"), WORDS, ids=[w for w, _ in WORDS])


def test_no_spelling_is_of_two_types() -> None:
    words = [w for w, _ in WORDS]
    assert len(set(words)) == len(words)
    assert all(w == w.lower() for w in words)


@each_word
def test_an_array_of_every_spelling_is_a_size_and_can_be_sharded(word: str, kind: dtypes.Dtype) -> None:
    want = kind.bits * 1024 // 8
    assert units.size(f"{word}[16,64]") == want
    assert not sharding.is_sharded(f"{word}[16,64]")
    assert sharding.is_sharded(f"{word}[16_x,64]")
    array = sharding.parse(f"{word}[16_x,64]", {"x": 4})
    assert sharding.whole_bytes(array) == want
    (row,) = hc.predict("all_gather", "ring:4", size=f"{word}[16,64]").rows
    assert row["size_bytes"] == want


@each_word
def test_bits_are_those_of_numpy_where_it_has_the_type(word: str, kind: dtypes.Dtype) -> None:
    # numpy's `int` and `long` are as wide as the machine's, those of torch 32 and 64 bits.
    if hasattr(np, word) and word not in ("int", "long", "short"):
        assert np.dtype(getattr(np, word)).itemsize * 8 == kind.bits


@each_word
def test_spellings_of_one_type_have_the_same_flops(word: str, kind: dtypes.Dtype) -> None:
    try:
        want = hc.roofline("h100", kind.name).rows[0]["flops"]
    except InputError as reason:
        assert "no FLOP/s" in str(reason)  # noqa: PT017 (which of both is what is asked)
        with pytest.raises(InputError, match=f"no FLOP/s of {word} is known"):
            hc.roofline("h100", word)
    else:
        assert hc.roofline("h100", word).rows[0]["flops"] == want


@pytest.mark.parametrize(
    ("word", "near"), [("fp9", "fp8"), ("bflaot16", "bfloat16"), ("float8_e4m3fm", "float8_e4m3fn")]
)
def test_a_slip_is_answered_with_the_nearest_spelling(word: str, near: str) -> None:
    for ask in (lambda: units.size(f"{word}[8]"), lambda: sharding.parse(f"{word}[8_x]", {"x": 2})):
        with pytest.raises(InputError, match=f"no dtype '{word}'; did you mean {near}. there is: pred, s2"):
            ask()
