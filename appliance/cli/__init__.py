# SPDX-License-Identifier: Apache-2.0
"""The command `kaltstart`: on the stick, and installed on a laptop. Turns errors into exit codes.

What needs the engine of a running stick is in `engine`, what reads a database in `stored`, the
commands and their options are in `parser`. Each command imports what it needs when it is called: a
measured boot must not read the report's libraries from the drive under test.
"""

import errno
import sqlite3
import sys
from collections.abc import Sequence

from appliance.cli import engine
from appliance.cli.parser import make_parser
from appliance.cli.say import say
from appliance.errors import KaltstartError, StickError

_INTERRUPTED = 130
"""As shells have it: 128 and the signal's number."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code, one of those that the parser's help lists."""
    words = sys.argv[1:] if arguments is None else arguments
    options = make_parser(*words[:1]).parse_args(words)
    code: int = 0
    try:
        code = options.command(options)
        print(end="", flush=True)  # here, where it is known what a lost reader means
    except KaltstartError as error:
        return _tell(error)
    except BrokenPipeError:
        # The reader, `head` for example, has seen enough. Nothing is to be flushed at the end.
        sys.stdout = None
        return code
    except KeyboardInterrupt:
        return _INTERRUPTED
    except OSError as error:
        # The services have no output: there it is a bug, whose traceback the journal must have.
        if error.errno != errno.ENOSPC or options.command in {engine.serve, engine.measure}:
            raise
        sys.stdout = None
        return _tell(StickError("no space is left for the output"))
    except Exception as error:
        trouble = _find_stick_trouble(error)
        if trouble is None:
            raise
        return _tell(trouble)
    return code


def _tell(error: KaltstartError) -> int:
    for line in getattr(error, "problems", ()) or (error.message,):
        say(line, to=sys.stderr)
    if error.hint:
        say(f"What to do: {error.hint}", to=sys.stderr)
    return error.exit_code


def _find_stick_trouble(error: Exception) -> StickError | None:
    """What the database says of the stick while a command stores or reads; None: a bug."""
    if not isinstance(error, sqlite3.Error):
        return None
    from appliance.store.connect import find_stick_trouble

    return find_stick_trouble(error)
