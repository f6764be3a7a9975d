"""A process that remembers sentence after sentence and notes each one it was told is saved: ``writer.py HOME ACKED NAME COUNT
HOW``.

``HOW`` is ``store`` (the log alone), ``files`` (the memory file too) or ``run`` (a first run over the sample, until it is done).
"""

import os
import sys
from pathlib import Path
from time import monotonic

from faults import desk_at, ran

from kept.changes import apply_person_change
from kept.memories import person


def main(home: str, acked: str, name: str, count: str, how: str) -> None:
    handle = os.open(acked, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if how == "run":
        ran(Path(home))
        os.write(handle, b"done\n")
        return
    started = monotonic()
    with desk_at(Path(home)) as workspace:
        for number in range(int(count)):
            text = f"Rule {number} of {name} holds for crate {name}{number}."
            if how == "files":
                apply_person_change(workspace, lambda text=text: person.create_memory(workspace, text, "constraint"))
            else:
                person.create_memory(workspace, text, "constraint")
            os.write(handle, f"{text}\n".encode())
    sys.stdout.write(f"{int(count) / (monotonic() - started):.1f} operations/s\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
