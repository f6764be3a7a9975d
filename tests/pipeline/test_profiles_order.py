"""Whatever was read first: dossiers, homes and preferences end the same."""

import random
import shutil

import pytest
from test_memory_loop import chat

from kept.core.memory import Status
from kept.pipeline.run import RunOptions, run_pipeline

SAID = {
    "2026-01-02": "I live in Lisbon and work as a translator.",
    "2026-01-09": "My sister Ana is a vet in Porto.",
    "2026-01-20": "Please keep your answers short, I hate long explanations.",
    "2026-02-03": "My sister Ana has two dogs and a cat.",
    "2026-02-11": "I use Arch Linux on a ThinkPad and Neovim.",
    "2026-02-19": "I moved to Braga last month.",
    "2026-03-01": "I prefer answers without bullet points.",
    "2026-03-08": "My laptop runs Debian 12.",
    "2026-03-15": "My laptop runs Fedora 41.",
    "2026-03-20": "My sister Ana is a vet in Porto.",
}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
def test_any_order_and_any_partition_of_the_chats_gives_the_same_memories_and_dates(seed, home, desk_at):
    days = list(SAID)
    shuffled = random.Random(seed).sample(days, len(days))
    outcomes = []
    for name, parts in (("whole", [days]), ("parts", [shuffled[part::3] for part in range(3)])):
        folder = home / name
        (folder / ".config" / "kept").mkdir(parents=True)
        (folder / ".config" / "kept" / "config.toml").write_text('profile = "companion"\n')
        with desk_at(folder) as workspace:
            for part in parts:
                for day in part:
                    chat(folder / "vaults" / "v", f"1{days.index(day):03}", SAID[day], day=day)
                run_pipeline(workspace, [], RunOptions())
            outcomes.append(
                {
                    (each.category, each.content, each.first_seen, each.last_seen, each.status, each.ended_at)
                    for each in workspace.store.log.memories()
                    if each.status in (Status.ACTIVE, Status.SUPERSEDED)
                }
            )
        shutil.rmtree(folder)
    assert outcomes[0] == outcomes[1]
    active = {each[1] for each in outcomes[0] if each[4] is Status.ACTIVE}
    assert {"I moved to Braga last month.", "My sister Ana has two dogs and a cat.", "My sister Ana is a vet in Porto."} <= active
