"""Compare the estimate of a run with what the run then asks, with the same transcripts and a scripted model.

    python benchmarks/estimate.py TRANSCRIPTS

It reads without a model, then estimates, then runs with ``obedient.py`` as the model; it prints questions and tokens of both.
"""

import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "helpers"))

from kept.llm.adapter import estimate_tokens, format_full_prompt
from kept.llm.adapters.scripted import ScriptedModel
from kept.llm.ask import Ask
from kept.llm.client import LlmClient
from kept.llm.replies import ReplyCache
from kept.paths import Paths
from kept.pipeline.estimate import estimate_run
from kept.pipeline.run import RunOptions, run_pipeline
from kept.workspace import Workspace, open_workspace
from obedient import obey


def told_and_asked(workspace: Workspace, transcripts: Path) -> tuple[int, int, Counter[str], int]:
    """The estimated questions and tokens; the actual questions by purpose, and the actual tokens."""
    run_pipeline(workspace, [transcripts], RunOptions(model=False))
    asked: list[Ask] = []

    def answer(ask: Ask) -> dict[str, object]:
        asked.append(ask)
        body: dict[str, object] = obey(ask)
        return body

    asker = LlmClient(lambda: ScriptedModel(answer), replies=ReplyCache(workspace.paths.replies), clock=workspace.clock)
    told = estimate_run(workspace, asker)
    run_pipeline(replace(workspace, llm=asker), [transcripts], RunOptions())
    return (
        told.questions,
        told.usage.input_tokens,
        Counter(each.purpose for each in asked),
        sum(estimate_tokens(format_full_prompt(each)) for each in asked),
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as home, open_workspace(Paths(root=Path(home), user=Path(home)), zone="UTC") as workspace:
        questions, tokens, asked, spent = told_and_asked(workspace, Path(sys.argv[1]))
    print(f"told: {questions:,} questions, {tokens:,} tokens")
    print(f"asked: {asked.total():,} questions, {spent:,} tokens; {', '.join(f'{n} {kind}' for kind, n in asked.most_common())}")
    print(f"told of asked: questions {questions / asked.total():.2f}, tokens {tokens / spent:.2f}")


if __name__ == "__main__":
    main()
