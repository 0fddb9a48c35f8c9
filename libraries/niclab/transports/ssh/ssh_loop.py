"""The one event-loop thread of the process; every transport that is asynchronous inside runs there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_start_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop
    with _start_lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="niclab-transports", daemon=True).start()
        return _loop


def call(coroutine: Coroutine[Any, Any, T], *, within_s: float) -> T:
    """Run ``coroutine`` in the loop thread and wait for it; returns what it returns, raises what it raises.

    The coroutine is expected to keep its own deadline; ``within_s`` (seconds) is the backstop behind it. When the wait
    ends early for any reason (backstop, Ctrl-C, a timeout of the caller), the coroutine is cancelled.

    Raises:
        TimeoutError: When the backstop is reached.
    """
    future = asyncio.run_coroutine_threadsafe(coroutine, _running_loop())
    try:
        return future.result(within_s)
    except BaseException:
        future.cancel()
        raise
