"""What predict answers in one row, and the rates and units that its tests count in."""

from typing import Any

import hopcast as hc

GIB, MICRO = 2.0**30, 1e-6
NVLINK, NIC = 450e9, 50e9  # of a DGX H100, bytes/s one way


def predicted_row(collective: str, where: str, size: str | float | None = GIB, **more: Any) -> dict[str, Any]:
    """The only row of `predict`."""
    (only,) = hc.predict(collective, where, size=size, **more).rows
    return only


def micros(collective: str, where: str, size: str | float = GIB, **more: Any) -> float:
    """Its time, in microseconds."""
    time = predicted_row(collective, where, size, **more)["time_us"]
    assert isinstance(time, float)
    return time
