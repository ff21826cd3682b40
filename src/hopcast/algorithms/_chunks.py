"""How many chunks a pipeline has: many waste latency, few waste time until it is full."""

import math

FREE = 1024  # chunks where latency is 0 and more are always better: 0.1 % of D / W for each step of filling
MOST = 4096
BLIND = 64  # where links differ, so that nothing says which number is best


def best(filling: float, alpha: float, whole: float, most: int) -> int:
    """The m for which (filling + m) (alpha + whole / m) is least.

    Args:
        filling: Steps until the pipeline is full and after it runs dry.
        alpha: Latency of a step, seconds.
        whole: Seconds that all bytes take.
        most: Of it.

    >>> best(3, 1e-6, 12e-6, 4096), best(3, 0.0, 12e-6, 4096), best(0, 1e-6, 12e-6, 4096)
    (6, 4096, 1)
    """
    if filling <= 0 or whole <= 0:
        return 1
    if not alpha:
        return most
    exact = math.sqrt(filling * whole / alpha)
    near = [min(max(m, 1), most) for m in (math.floor(exact), math.ceil(exact))]
    return min(near, key=lambda m: (filling + m) * (alpha + whole / m))
