"""What the links between the records of a thread say about prompts that a person rewound."""

from collections.abc import Iterator

from kept.core.event import EventKind
from kept.store.archive.blocks import Blocks, find_user_prompts, is_user_prompt
from kept.store.database import Database
from kept.store.threads import Tree, has_siblings, unpack_runs


def load_tree(database: Database, blocks: Blocks, thread: int) -> tuple[Tree, bytearray]:
    """The tree of a thread, and for each of its events 1 if it is marked as abandoned, else 0. Raises DamagedError."""
    blocks.drop_outdated()
    tree = Tree()
    rows = database.run("thread_events", thread=thread).fetchall()
    for places, place in blocks.places_of(event for event, _ in unpack_runs(rows)):
        output = places.kinds[place] is EventKind.TOOL_OUTPUT
        human = is_user_prompt(places, place)
        tree.append(places.records[place], places.parents[place], places.turns[place], human=human, output=output)
    return tree, bytearray(abandoned for _, abandoned in unpack_runs(rows))


def has_rewinds(database: Database, blocks: Blocks, thread: int) -> bool:
    """True if a rewind may have replaced an event of a thread. Also true if an event is marked so and its records have links.

    Nothing was replaced unless a prompt of the user shares its parent with another record. Raises DamagedError.
    """
    blocks.drop_outdated()
    runs = database.run("thread_events", thread=thread).fetchall()

    def links() -> Iterator[tuple[list[str], list[str], list[str]]]:
        for places, part in blocks.slices((run["event"], run["events"]) for run in runs):
            asked = [places.parents[place] for place in find_user_prompts(places, part)]
            yield places.records[part], places.parents[part], asked

    return has_siblings(links) or (any(run["abandoned"] for run in runs) and any(any(parents) for _, parents, _ in links()))
