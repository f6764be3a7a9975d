"""Format the report of a run as lines."""

from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path
from zoneinfo import ZoneInfo

from kept.cli.console import Line, format_count, format_id, format_path, format_size, hanging_line, line, more_lines
from kept.cli.lists import grouped_lines, pending_line
from kept.cli.model_use import question_lines, unanswered_lines
from kept.core.markup import format_memory_line
from kept.core.memory import SAID_ONCE, UNTRIED, Memory
from kept.core.times import format_day, format_minute
from kept.days.coverage_report import CoverageReport
from kept.extraction.llm_extraction import LlmExtractionReport
from kept.memories.history import describe_counts
from kept.memories.waiting import PendingProposal, best_of_all, best_of_each_scope, describe_set_aside
from kept.pipeline.run import RunOptions
from kept.pipeline.run_report import RunReport
from kept.profiles.prompts import BUILT_IN
from kept.sources.registry import SkipReason
from kept.workspace import Workspace

_IN_FOLDER = "program-prompt:folder"
_NEW_SHOWN = 20
_BEST_SHOWN = 3
_LINE = 160  # maximum characters of a held proposal
_PATHS_SHOWN = 10


def report_lines(workspace: Workspace, report: RunReport, options: RunOptions, *, verbose: bool) -> Iterator[Line]:
    """The report of a run, for a person. Only that of a dry run lists held proposals. Otherwise :func:`pending_lines` does."""
    if options.dry:
        yield line(("Dry run: nothing was changed. These changes would be made:", "yellow"))
    if report.resumed:
        yield line(("The previous run was interrupted; this one continued where it stopped.", "dim"))
    yield from _format_reading(report, verbose=verbose, dry=options.dry)
    if not options.dry:
        yield from llm_extraction_lines(report.llm_extraction)
        yield from _curation_lines(report)
    yield from question_lines(report.asked)
    if apart := sum(memory.reason.endswith(UNTRIED) for memory in report.asked_about):
        text = f"{format_count(apart, 'proposal')} of a model that did not pass its trial"
        yield line((text, "yellow"), f" → kept review --all; kept undo r{report.run} takes back all changes of this run")
    yield from _new_memory_lines(
        workspace, f"New: {format_count(len(report.new), 'memory')}", report.new, "kept list", report.names
    )
    held = tuple(memory for memory in report.asked_about if options.dry and not memory.reason.endswith(UNTRIED))
    wishes = f"{format_count(report.wishes, 'wish', 'wishes')} {SAID_ONCE}" if report.wishes else ""
    counts = ", and ".join(filter(None, (format_count(len(held), "proposal") if held else "", wishes)))
    title = f"New, held for you: {counts}"
    yield from _new_memory_lines(workspace, title, held, "kept review --all", report.names)
    if wishes and not held:
        yield line((title, "bold green"))
    if report.new or held:
        yield line()
    yield from _hand_edit_lines(report.written.operations)
    if withdrawn := report.curated.operations["retire"]:
        why = ["that you took back"] if report.curated.taken_back else []
        why += ["whose evidence no longer counts"] if withdrawn > report.curated.taken_back else []
        text = f"{format_count(withdrawn, 'memory')} {' or '.join(why)}"
        yield line(("Retired: ", "yellow"), text, " → kept log lists them, kept undo brings them back")
    yield from missed_lines(report.covered, workspace.zone, whole=verbose)
    yield from problem_lines(report, verbose=verbose)
    for path, bytes_ in report.written.files:
        done = ("Would write " if options.dry else "Wrote ") if bytes_ else ("Would remove " if options.dry else "Removed ")
        size = format_size(bytes_) if bytes_ else "it would be empty"
        yield line((done, "green"), format_path(path), (f" ({size})", "dim"))
    yield from outdated_lines(report)
    yield line((f"{format_count(report.active, 'memory')} · {report.seconds:.1f} s", "dim"))


def pending_lines(pool: Sequence[PendingProposal], new: Container[str] = ()) -> Iterator[Line]:
    """The number of proposals held for the person, and the best of those in ``new``. The others were shown by earlier runs."""
    if not pool:
        return
    chosen = best_of_each_scope(pool)
    yield pending_line(len(pool), len(chosen))
    fresh = tuple(item for item in chosen if item.memory.id in new)
    for item in best_of_all(fresh, _BEST_SHOWN):
        words = format_memory_line(item.memory.content, item.memory.about, _LINE)
        yield hanging_line([("    ", ""), (format_id(item.memory.id), "yellow"), ("  ", "")], words)
    yield from more_lines(len(fresh), _BEST_SHOWN, "kept review", indent=4)


def outdated_lines(report: RunReport) -> Iterator[Line]:
    """The number of memories that ``kept upgrade`` would extract again."""
    if report.outdated:
        text = f"{format_count(report.outdated, 'memory comes', 'memories come')} from rules of an earlier version"
        yield line((text, "yellow"), " → kept upgrade")


def is_idle(report: RunReport) -> bool:
    """True if a run found nothing to do."""
    busy = (
        report.reading.fresh
        or report.extracted.threads
        or report.llm_extraction.threads
        or report.asked.questions
        or report.curated.operations
        or report.written.operations
    )
    return not (busy or report.written.files or report.partly)


def idle_line(report: RunReport, waiting: int) -> Line:
    """The report of a run that found nothing new. ``waiting`` is the number of proposals that the person is asked about."""
    if not report.sources and not report.active:
        left = report.reading.left
        skipped = f" {format_count(len(left), 'path was', 'paths were')} skipped: {left[0][1]}" if left else ""
        return line(f"Nothing to read was found.{skipped}", (" → kept run PATH", "dim"))
    rest = f", {format_count(waiting, 'proposal is held', 'proposals are held')} → kept review" if waiting else ""
    if malformed := report.reading.account.malformed:
        return line(
            "None of the new records could be read.", (f" {_format_malformed(malformed)} → kept sources --verbose", "yellow")
        )
    return line("Nothing new.", (f" {format_count(report.active, 'memory')}{rest} · {report.seconds:.1f} s", "dim"))


def _format_malformed(records: int) -> str:
    return f"{format_count(records, 'malformed record was', 'malformed records were')} skipped"


def _format_reading(report: RunReport, *, verbose: bool, dry: bool) -> Iterator[Line]:
    reading, sources = report.reading, ", ".join(sorted(report.sources)) or "nothing"
    if not reading.fresh and not report.extracted.threads:
        if not report.sources:
            return
        yield line("Read nothing new", (f" ({format_count(sum(report.sources.values()), 'file')} of {sources})", "dim"))
        return
    what = (
        f"{format_count(report.extracted.threads, 'session')} of {format_count(report.days, 'day')}"
        if report.days
        else format_count(report.extracted.threads, "session")
    )
    details = [format_count(reading.fresh, "new event")]
    if reading.bytes_in:
        details.append(f"cleaning removed {max(0.0, 100 * (1 - reading.bytes_kept / reading.bytes_in)):.0f} % of the text")
    if reading.secrets:
        details.append(f"{format_count(reading.secrets, 'secret')} redacted")
    if reading.removed.get("invisible"):
        details.append(f"{format_count(reading.removed['invisible'], 'byte')} of invisible text removed")
    placed = reading.account.noted.get(_IN_FOLDER, 0)
    programs = sum(count for reason, count in reading.account.noted.items() if reason.startswith("program-prompt:")) - placed
    if programs:
        details.append(f"{format_count(programs, 'prompt')} of claude -p, codex exec or an SDK treated as written by a program")
    if placed:
        details.append(
            f"{format_count(placed, 'prompt')} in a temporary folder or on a build machine treated as written by a program"
        )
    unsure = sum(count for reason, count in reading.account.noted.items() if reason.startswith("unconfirmed-prompt:"))
    if unsure:
        details.append(
            f"{format_count(unsure, 'prompt')} that a program or somebody else may have written (they are held for review)"
        )
    if reading.account.malformed:
        details.append(f"{_format_malformed(reading.account.malformed)} (kept sources --verbose)")
    yield line(("Read ", "green"), f"{what} from {sources}", (f": {', '.join(details)}", "dim"))
    extracted, reasons = report.extracted, report.extracted.refused
    if extracted.candidates:
        kept = format_count(extracted.accepted, "statement to remember", "statements to remember") if extracted.accepted else ""
        text = ", ".join(filter(None, (kept, describe_set_aside(reasons, None if verbose else 3))))
        where = " → kept list --refused" if reasons.keys() - {SAID_ONCE} else " → kept review --all" if reasons else ""
        yield from [line((text, "dim"), ("" if dry else where, "dim"))] if text else []
    if verbose:
        for name, account in sorted(reading.accounts.items()):
            yield line((f"{name}: {format_account(account.records, account.kept, account.dropped)}", "dim"))
        removed = ", ".join(f"{count} {what}" for what, count in reading.removed.most_common())
        if removed:
            yield line((f"removed by cleaning: {removed}", "dim"))


def _curation_lines(report: RunReport) -> Iterator[Line]:
    """The changes to memories that a language model proposed, the requests that kept wrote for it, and the days it summarised."""
    llm_curation, requests, book = report.llm_curation, report.llm_requests, report.day_summaries
    if llm_curation.asked:
        done = ", ".join(f"{count} {kind}" for kind, count in sorted(llm_curation.operations.items())) or "no change"
        why = ", ".join(f"{count} {reason}" for reason, count in llm_curation.refused.most_common(3))
        yield line(
            ("Tidied up ", "green"),
            f"the categories with a language model: {done}",
            (f"; not applied: {why}" if why else "", "dim"),
        )
    if requests.asked:
        what = f"example prompts by which search finds {requests.written:,} of {format_count(requests.asked, 'memory')}"
        yield line(("Wrote ", "green"), what, " → kept why ID")
    if book.written:
        yield line(("Summarised ", "green"), format_count(book.written, "day"), " → kept day DATE")
    if left := llm_curation.left + requests.left + book.left:
        yield line((f"{format_count(left, 'question')} about memories and days left for the next run", "yellow"))


def llm_extraction_lines(read: LlmExtractionReport) -> Iterator[Line]:
    """The text that a language model read, the number of its claims by outcome, and the prompt if it is the user's own."""
    if not read.threads:
        return
    if read.chunks:
        what = f"{format_count(read.chunks, 'part')} of {format_count(read.threads, 'session')}"
        yield line(("Read ", "green"), f"{what} with a language model")
    claims = read.accepted + read.held + sum(read.refused.values())
    if claims or read.overruled:
        why = f" ({', '.join(f'{count} {reason}' for reason, count in read.refused.most_common(4))})" if read.refused else ""
        text = (
            f"{format_count(claims, 'claim')}, {read.accepted} accepted ({read.confirmed} of them also found by the rules), "
            f"{read.held} held, "
        )
        yield line((f"{text}{sum(read.refused.values())} refused{why}; {read.overruled} proposals of the rules refused", "dim"))
    for profile, (origin, version) in read.prompts.items():
        if origin != BUILT_IN:
            yield line(
                ("Extraction prompt: yours, ", "yellow"),
                format_path(Path(origin)),
                (f" (profile {profile}, version {version})", "dim"),
            )
    if read.left:
        yield line((f"{format_count(read.left, 'session')} not read to the end; the next run continues there", "yellow"))


def format_account(records: int, kept: int, dropped: Mapping[str, int]) -> str:
    """The number of records read, kept, and dropped for each reason, in words."""
    gone = ", ".join(f"{count:,} {reason}" for reason, count in sorted(dropped.items(), key=lambda item: (-item[1], item[0])))
    return f"{format_count(records, 'record')} = {kept:,} kept + {sum(dropped.values()):,} set aside" + (
        f" ({gone})" if gone else ""
    )


def _new_memory_lines(
    workspace: Workspace, title: str, new: tuple[Memory, ...], rest: str, names: Mapping[str, str]
) -> Iterator[Line]:
    """The best new memories or proposals of a run, and the command ``rest`` that shows the others."""
    if not new:
        return
    weights = {(profile.id, kind.id): kind.weight for profile in workspace.profiles for kind in profile.categories}
    best = sorted(new, key=lambda memory: (-weights.get((memory.profile, memory.category), 0) * memory.confidence, memory.id))
    yield line()
    yield line((title, "bold green"))
    yield from grouped_lines(workspace, best[:_NEW_SHOWN], names=names)
    yield from more_lines(len(new), _NEW_SHOWN, rest, indent=4)


def missed_lines(covered: CoverageReport, zone: ZoneInfo, *, whole: bool, hint: str = "") -> Iterator[Line]:
    """The number of topics that look worth remembering but produced no memory. If ``whole``, each of them and the totals.

    The command ``hint`` lists them; by default the day of the last one does.
    """
    missed = covered.topics - covered.covered - covered.nothing
    if whole and covered.topics:
        text = (
            f"{covered.covered:,} covered, {covered.nothing:,} with nothing durable, {missed:,} missed although they look "
            "worth remembering"
        )
        yield line((f"{format_count(covered.topics, 'topic')}: {text}", "yellow" if missed else "dim"))
    elif missed:
        look = "looks" if missed == 1 else "look"
        what = f"{format_count(missed, 'topic')} of {covered.topics:,} {look} worth remembering, but produced no memory"
        days = sorted(format_day(topic.at, zone) for topic in covered.missed if topic.at)
        hint = hint or (f"kept day {days[-1]} --detailed" if days else "")
        yield line((what, "yellow"), (f" → {hint}" if hint else "", "dim"))
    for topic in covered.missed if whole else ():
        yield line((f"  {format_minute(topic.at, zone)}  ", "dim"), topic.told, (f"  ({', '.join(topic.words)})", "dim"))


def _hand_edit_lines(operations: Mapping[str, int]) -> Iterator[Line]:
    if done := describe_counts(operations):
        yield line(("Your own edits were applied: ", "green"), done)
    if operations.get("hold"):
        text = "  a line that was added or put back stays in the file and is held, because any program could have written it"
        yield line(text, " → kept review")


def problem_lines(report: RunReport, *, verbose: bool) -> Iterator[Line]:
    """Each problem of a run, and what to do about it."""
    for stop in (*report.curated.stopped, *report.llm_curation.stopped):
        yield line(("Stopped by a guard: ", "red"), stop)
        yield line(("  the whole step was skipped, and nothing is lost; if the change is right: kept run --accept-loss", "dim"))
    for problem in report.written.problems:
        yield line(("Not done: ", "red"), problem)
    yield from unanswered_lines(report.asked, verbose=verbose)
    skipped = report.skipped
    if not skipped:
        return
    yield line((f"Not read: {format_count(len(skipped), 'file')}", "yellow"))
    yield from unread_lines(skipped, verbose=verbose)
    if any(reason.startswith(SkipReason.UNKNOWN_FORMAT) for _, reason in skipped):
        yield line(("  If some are text in a format that you know: kept sources add PATH --as FORMAT, then kept run", "dim"))


def unread_lines(skipped: Sequence[tuple[str, str]], *, verbose: bool, hint: str = "kept run --verbose") -> Iterator[Line]:
    """The files that were not read, each with its reason. Many files are grouped by reason."""
    if verbose or len(skipped) <= _PATHS_SHOWN:
        yield from (line("  ", format_path(path), (f": {reason}", "dim")) for path, reason in skipped)
        return
    reasons: dict[str, list[str]] = {}
    for path, reason in skipped:
        reasons.setdefault(reason, []).append(path)
    for reason, paths in sorted(reasons.items(), key=lambda group: (-len(group[1]), group[0])):
        yield line(f"  {format_count(len(paths), 'file')}, {reason}; such as {Path(paths[0]).name}")
    yield line((f"  each with its path → {hint}", "dim"))
