"""time(1) of the base system: how long a command took."""

from __future__ import annotations

import os
import sys
import time as clock

from below import Refusal


def time(arguments: list[str]) -> int:
    options = [word for word in arguments if word.startswith("-")] if arguments[:1] == ["-p"] else []
    words = arguments[len(options[:1]) :]
    if not words or words[0].startswith("-"):
        raise Refusal("usage: time [-al] [-h | -p] [-o file] utility [argument ...]")
    began = clock.monotonic()
    child = os.fork()
    if not child:
        try:
            os.execvp(words[0], words)
        except OSError as error:
            sys.stderr.write(f"time: {words[0]}: {error.strerror}\n")
            os._exit(127)
    _, status, used = os.wait4(child, 0)
    real = clock.monotonic() - began
    if options:
        sys.stderr.write(f"real {real:.2f}\nuser {used.ru_utime:.2f}\nsys {used.ru_stime:.2f}\n")
    else:
        sys.stderr.write(f"{real:13.2f} real {used.ru_utime:13.2f} user {used.ru_stime:13.2f} sys\n")
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code
