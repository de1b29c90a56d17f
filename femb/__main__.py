"""``python -m femb``: the command line."""

from femb.cli import main

if __name__ == "__main__":
    main()
