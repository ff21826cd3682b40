"""Binary heaps of item numbers, ordered by a key that stands elsewhere, for compiled code.

A heap is an array of items of which the first ``count`` are in it; ``where[item]`` is the place of an item in
the array, or -1. So the key of an item that is in the heap may change, and `sift` puts it right.
"""

import numpy as np
import numpy.typing as npt

from .compiled import inner

Items = npt.NDArray[np.int32]
Keys = npt.NDArray[np.float64]


@inner
def up(heap: Items, where: Items, key: Keys, at: int) -> None:
    """Move the item at a place towards the top until its parent is no later."""
    item = heap[at]
    mine = key[item]
    while at > 0:
        above = (at - 1) >> 1
        if key[heap[above]] <= mine:
            break
        heap[at] = heap[above]
        where[heap[at]] = at
        at = above
    heap[at] = item
    where[item] = at


@inner
def down(heap: Items, where: Items, key: Keys, count: int, at: int) -> None:
    """Move the item at a place away from the top until no child is earlier."""
    item = heap[at]
    mine = key[item]
    while True:
        below = 2 * at + 1
        if below >= count:
            break
        if below + 1 < count and key[heap[below + 1]] < key[heap[below]]:
            below += 1
        if key[heap[below]] >= mine:
            break
        heap[at] = heap[below]
        where[heap[at]] = at
        at = below
    heap[at] = item
    where[item] = at


@inner
def sooner(heap: Items, where: Items, key: Keys, count: int, item: int, when: float) -> int:
    """Put an item in, or give it an earlier key. Returns the new count."""
    key[item] = when
    at = where[item]
    if at < 0:
        at = count
        heap[at] = item
        count += 1
    up(heap, where, key, at)
    return count


@inner
def push(heap: Items, where: Items, key: Keys, count: int, item: int) -> int:
    """Put an item in, or after its key has changed, in its place. Returns the new count."""
    count = sooner(heap, where, key, count, item, key[item])
    down(heap, where, key, count, where[item])
    return count


@inner
def pop(heap: Items, where: Items, key: Keys, count: int) -> int:
    """Take the top item out. The count is then one less."""
    top: int = heap[0]
    where[top] = -1
    if count > 1:
        heap[0] = heap[count - 1]
        down(heap, where, key, count - 1, 0)
    return top


@inner
def order(heap: Items, where: Items, key: Keys, count: int) -> None:
    """Make a heap of items in any order."""
    for at in range(count):
        where[heap[at]] = at
    for at in range((count >> 1) - 1, -1, -1):
        down(heap, where, key, count, at)


@inner
def queue(time: Keys, item: Items, count: int, when: float, first: int, second: int) -> int:
    """Put a pair of numbers in a heap that keeps its keys with them. Returns the new count."""
    at = count
    while at > 0:
        above = (at - 1) >> 1
        if time[above] <= when:
            break
        time[at] = time[above]
        item[at, 0], item[at, 1] = item[above, 0], item[above, 1]
        at = above
    time[at] = when
    item[at, 0], item[at, 1] = first, second
    return count + 1


@inner
def unqueue(time: Keys, item: Items, count: int) -> int:
    """Take the first pair out of such a heap. Returns the new count."""
    count -= 1
    when, first, second = time[count], item[count, 0], item[count, 1]
    at = 0
    while True:
        below = 2 * at + 1
        if below >= count:
            break
        if below + 1 < count and time[below + 1] < time[below]:
            below += 1
        if time[below] >= when:
            break
        time[at] = time[below]
        item[at, 0], item[at, 1] = item[below, 0], item[below, 1]
        at = below
    time[at] = when
    item[at, 0], item[at, 1] = first, second
    return count
