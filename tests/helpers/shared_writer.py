"""A machine that commits memories and records each acknowledged one: ``shared_writer.py FOLDER NAME URL COUNT``."""

import sys
from hashlib import sha256
from pathlib import Path

from store_world import add, commit, replica


def main(folder: str, name: str, url: str, count: str) -> None:
    noted = Path(folder) / f"{name}.acked"
    first = len(noted.read_text().splitlines()) if noted.exists() else 0
    with replica(Path(folder) / name / "kept.db", url) as store, noted.open("a") as file:
        store.refresh()
        for number in range(first, first + int(count)):
            text = f"rule {number} of machine {name}"
            memory = sha256(text.encode()).hexdigest()[:10]
            if store.log.memory(memory) is None:  # it may be committed although a kill came before the acknowledgement
                commit(store, add(memory, text))
            file.write(f"{text}\n")
            file.flush()
            sys.stdout.write(".\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
