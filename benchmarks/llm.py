"""Compute the cost of extraction with a language model: calls, tokens, money; compared to one call per message or per 20 messages.

    python benchmarks/llm.py TRANSCRIPTS

No model is called. The replies come from ``obedient.py``, which answers by simple rules, so there are fewer output tokens than with
a talkative model; the maximum is printed too. Tokens are estimated as characters / 3, which is an upper bound for English. The two
other methods get the same system text, the same rendering, no earlier context, and an empty reply: this is the least they can cost.
Each is shown with the input that kept reads, and with only what people and assistants said.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from kept.core.event import Author, EventKind
from kept.extraction.questions.turns import render_turn
from kept.llm.adapter import format_full_prompt
from kept.llm.adapters.scripted import ScriptedModel
from kept.llm.ask import PART_TOKENS, Ask, Usage
from kept.llm.budget import price_of, price_table_date
from kept.llm.client import LlmClient
from kept.llm.replies import ReplyCache
from kept.paths import find_paths
from kept.pipeline.run import RunOptions, RunReport, run_pipeline
from kept.workspace import Workspace, open_workspace
from obedient import obey

MODELS = ("claude-haiku-5-5", "gpt-6-luna")
EMPTY = '{"hints":[],"memories":[],"notes":{"problems":[],"solutions":[],"decisions":[],"questions":[]}}'
GROUP = 20


def tokens(text: str) -> int:
    return -(-len(text) // 3)


class Counting:
    """The scripted model, which records the questions."""

    def __init__(self) -> None:
        self.asks: list[Ask] = []

    def __call__(self, ask: Ask) -> dict[str, object]:
        """Record a question and answer it."""
        self.asks.append(ask)
        return obey(ask)


def heard(workspace: Workspace, model: Counting, paths: Sequence[Path], *, force: bool = False) -> RunReport:
    asker = LlmClient(lambda: ScriptedModel(model), replies=ReplyCache(workspace.paths.replies), clock=workspace.clock)
    return run_pipeline(replace(workspace, llm=asker), paths, RunOptions(force=force))


def others(workspace: Workspace, system: str, group: int, *, tools: bool) -> tuple[int, int, int]:
    """The calls, input tokens and output tokens with one call per ``group`` messages of a session. With ``tools``, tool calls and
    outputs are messages too.
    """
    calls = tokens_in = 0
    for thread in workspace.store.archive.threads():
        events = workspace.store.archive.events(thread.id, 0, thread.events)
        said = [
            render_turn(event, number)
            for number, event in enumerate(events)
            if tools or (event.kind in (EventKind.PROMPT, EventKind.RESPONSE) and event.author in (Author.HUMAN, Author.ASSISTANT))
        ]
        for at in range(0, len(said), group):
            calls += 1
            tokens_in += tokens(system) + tokens("\n".join(said[at : at + group]))
    return calls, tokens_in, calls * tokens(EMPTY)


def row(*cells: object) -> None:
    print(f"| {' | '.join(f'{each:,}' if isinstance(each, int) else str(each) for each in cells)} |")


def way(name: str, usage: tuple[int, int, int], raw: int, active: int | None) -> None:
    calls, tokens_in, tokens_out = usage
    money = [f"{(price.input * tokens_in + price.output * tokens_out) / 1e6:.4f}" for each in MODELS if (price := price_of(each))]
    each = f"{tokens_in // max(1, active):,}" if active else "–"
    row(name, calls, tokens_in, tokens_out, f"{tokens_in / raw:.3f}", each, *money)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("transcripts", type=Path)
    folder = parser.parse_args().transcripts
    raw = sum(path.stat().st_size for path in folder.rglob("*.jsonl"))
    with (
        tempfile.TemporaryDirectory() as home,
        open_workspace(find_paths(home, {"HOME": home}), zone="UTC", env={"HOME": home}) as workspace,
    ):
        model = Counting()
        report = heard(workspace, model, [folder])
        system = model.asks[0].system
        sizes = [tokens(format_full_prompt(each)) for each in model.asks]
        spent = report.asked.usage
        days = Counter(minute.date() for minute in workspace.store.archive.active_minutes())
        print(
            f"{raw / 1e6:.2f} MB raw, {report.reading.bytes_kept / 1e3:.0f} KB cleaned, {report.llm_extraction.threads} sessions, "
            f"{len(days)} days; "
        )
        print(
            f"chunks of {PART_TOKENS:,} tokens; prompt (stable part) {tokens(system):,} tokens, largest question "
            f"{max(sizes):,} tokens; "
        )
        print(f"prices of {price_table_date()}, in USD, without caching and batches\n")
        row("way", "calls", "tokens in", "tokens out", "tokens in a raw byte", "tokens in a memory", *MODELS)
        row(*["---"] * (6 + len(MODELS)))
        way("kept", (spent.calls, sum(sizes), spent.output_tokens), raw, report.active)
        way("kept, every reply at its cap", (spent.calls, sum(sizes), sum(each.most for each in model.asks)), raw, report.active)
        for tools, what in ((True, "tools read too"), (False, "tools not read")):
            way(f"one call for {GROUP} messages, {what}", others(workspace, system, GROUP, tools=tools), raw, None)
            way(f"one call a message, {what}", others(workspace, system, 1, tools=tools), raw, None)
        print()
        for each in MODELS:
            if price := price_of(each):
                cost = (price.input * sum(sizes) + price.output * spent.output_tokens) / 1e6
                print(f"{each}: {cost / len(days):.5f} USD a day on average; half of that as a batch")
        again = heard(workspace, model, [folder])
        forced = heard(workspace, model, [folder], force=True)
        told(again.asked.usage, f"second run: {again.asked.questions} questions")
        told(forced.asked.usage, f"forced run: {forced.asked.questions} questions, {forced.asked.cached} from the cache")


def told(usage: Usage, what: str) -> None:
    print(f"{what}, {usage.calls} calls, {usage.input_tokens} tokens")


if __name__ == "__main__":
    main()
