"""The command line, ``femb`` or ``python -m femb``."""

import os
import signal


def leave(number: int, frame: object) -> None:
    """End the process at once: before a command begins there is nothing to keep, and an import cannot be ended well."""
    os.write(2, b"interrupted\n")
    os._exit(130)


def main() -> None:
    """Entry point of the command ``femb``."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, leave)
    from femb.cli import main as begin

    begin()


if __name__ == "__main__":
    main()
