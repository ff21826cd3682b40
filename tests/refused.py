"""What a user is told of bad input: one line, that of an error or of the command line."""

from collections.abc import Callable

import pytest
from cli import run

from hopcast.names import InputError


def one_line_error(call: Callable[..., object], *values: object, **named: object) -> str:
    """What the InputError of a call says."""
    with pytest.raises(InputError) as caught:
        call(*values, **named)
    said = str(caught.value)
    assert "\n" not in said
    return said


def one_line_refusal(*words: str) -> str:
    """What `hopcast WORDS` says on stderr; the exit is 2 and stdout is empty."""
    ran = run(*words)
    assert (ran.status, ran.out) == (2, "")
    (said,) = ran.err.splitlines()
    return said
