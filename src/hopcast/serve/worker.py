"""A process that answers one question after the other, so that it can be ended in the middle of one.

Questions come on standard input, a line of JSON each. For each the process writes lines of JSON on standard
output: ``{"say": text}`` as often as there is something to say, and last ``{"error": text}``, or
``{"bytes": n}`` and behind it n bytes of JSON, the data of the page. Before the first question it says that
it is ready. It ends when its input does.
"""

import contextlib
import json
import os
import queue
import sys
import threading
from typing import BinaryIO, NoReturn

from hopcast.serve.asked import names_only, read
from hopcast.serve.work import MOST_PAGE, answer, explain

# A page of 9,216 chips takes under 1 GiB; what needs more than this would take longer than anyone waits.
MOST_MEMORY = 6 * 2**30
LEAST_MEMORY = 2**30
_PART = 4  # of the machine's memory, for there are as many processes at most


def main() -> NoReturn:
    """Answer until the input ends."""
    _limit_memory()
    # Whatever a library prints must not get between the answers.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    questions: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(questions,), daemon=True).start()
    with contextlib.suppress(BrokenPipeError):  # the server is gone
        _write(out, {"say": "ready"})
        while True:
            _one(questions.get(), out)
    os._exit(0)


def _listen(questions: "queue.SimpleQueue[bytes]") -> None:
    """Pass questions on; when the server is gone, end at once, whatever is being computed."""
    for line in sys.stdin.buffer:
        questions.put(line)
    os._exit(0)


def _one(line: bytes, out: BinaryIO) -> None:
    try:
        asked = read(line)
        names_only(asked)
        found = answer(asked, lambda text: _write(out, {"say": text}))
        data = json.dumps(found, separators=(",", ":"), allow_nan=False).encode()
    except Exception as error:  # the server turns it into an answer and the process goes on
        _write(out, {"error": explain(error)})
        return
    if len(data) > MOST_PAGE:
        _write(out, {"error": f"the page would have {len(data):,} bytes; the most is {MOST_PAGE:,}"})
        return
    _write(out, {"bytes": len(data)}, data)


def _write(out: BinaryIO, record: dict[str, object], data: bytes = b"") -> None:
    out.write(json.dumps(record).encode() + b"\n" + data)
    out.flush()


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    with contextlib.suppress(ValueError, OSError):
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        most = min(MOST_MEMORY, max(LEAST_MEMORY, whole // _PART))
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))


if __name__ == "__main__":
    main()
