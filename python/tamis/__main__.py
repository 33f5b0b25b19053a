"""The command `tamis`: runs the program that lies in the package."""

import os
import sys
from pathlib import Path


def main() -> None:
    """Replaces this process by the program, with the arguments of this process."""
    program = Path(__file__).parent / "bin" / "tamis"
    if not program.exists():
        sys.exit(f"tamis: {program} is missing; this package was built without the program")
    os.execv(program, ["tamis", *sys.argv[1:]])


if __name__ == "__main__":
    main()
