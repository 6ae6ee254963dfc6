"""How often a client may ask, and how much it may send."""

import time
from collections import OrderedDict, deque
from collections.abc import Callable
from threading import Lock

MAX_BODY = 64_000
"""Bytes of a form."""
_MOST_CLIENTS = 10_000


class RateLimiter:
    """A sliding window of requests per client.

    Args:
        limit (`int`):
            Requests in a window.
        seconds (`float`):
            Length of the window.
        clock (`Callable`, *optional*):
            Gives the time in seconds.

    Examples:
        >>> limiter = RateLimiter(2, 10, clock=lambda: 0.0)
        >>> [limiter.allow("me") for _ in range(3)]
        [True, True, False]
    """

    def __init__(self, limit: int, seconds: float, clock: Callable[[], float] = time.monotonic):
        self.limit, self.seconds, self.clock = limit, seconds, clock
        self._times: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = Lock()

    def allow(self, client: str) -> bool:
        """Whether a client may ask once more; counts the request if so."""
        now = self.clock()
        with self._lock:
            times = self._times.setdefault(client, deque())
            self._times.move_to_end(client)
            while len(self._times) > _MOST_CLIENTS:  # the least recent one
                self._times.popitem(last=False)
            while times and times[0] <= now - self.seconds:
                times.popleft()
            if len(times) >= self.limit:
                return False
            times.append(now)
        return True
