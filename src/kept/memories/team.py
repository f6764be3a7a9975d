"""Teams: people share memories of a common project through the server of their stores.

The owner's settings decide which memories are shared. A memory is withdrawn when it is no longer active. The lines of other people
stay on the server: kept does not write them to files or show them to agents. If a person accepts a line, it becomes their own
memory. A line that may contradict a memory here is held for review.
"""

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from kept.core.digest import digest
from kept.core.erasure import ErasureMatch, ErasureWords
from kept.core.errors import ConfigError, StoreError, UsageError
from kept.core.event import Origin
from kept.core.memory import TEAM, USER_SCOPE, Memory, Status
from kept.core.operation import Forget
from kept.core.statement import parse_statement
from kept.core.text import normal_form
from kept.core.value import dataclass
from kept.curation.curate.texts import find_value_pairs
from kept.curation.curate.values import parse_value_statement
from kept.local.settings import locate_errors
from kept.local.settings.tables import ShareSettings
from kept.memories.browse import find_by_prefix
from kept.memories.configure import remove_table_item, save_table_item
from kept.memories.decisions import hold_conflict
from kept.memories.person import approve, create_memory
from kept.memories.wording import clean_memory_text
from kept.store.postgres import SharedLine, connect_server
from kept.workspace import RunNumber, Workspace

if TYPE_CHECKING:
    from kept.store.postgres.server import PostgresServer


@dataclass(frozen=True, kw_only=True, slots=True)
class TeamFact:
    """A fact that a team shares. ``witnesses`` are the lines of the people who share it, each with a quote if its owner allows it.

    ``known`` means that a memory of this store already says the same.
    """

    id: str
    team: str
    project: str
    category: str
    content: str
    witnesses: tuple[SharedLine, ...]
    known: bool


def share_project(workspace: Workspace, project: str, team: str, *, what: str, quotes: bool) -> ShareSettings:
    """Share a project with a team, or change what is shared of it. The lines are sent at once.

    Raises UsageError if the project is unknown or the team has another one, ConfigError, and StoreError if the server refuses.
    """
    share = ShareSettings(project=workspace.find_scope(project), team=team, what=what, quotes=quotes)
    with locate_errors("--what"):
        share.check()
    if any(other.team == team and other.project != share.project for other in _list_shares(workspace)):
        raise UsageError(f"{team} is the team of another project", hint="each project needs a separate team and role")
    with _connect(workspace) as server:
        server.share(team, _lines_to_share(workspace, share))
    known = [(other.project, other.team) for other in _list_shares(workspace)]
    number = known.index((share.project, team)) if (share.project, team) in known else None
    save_table_item(workspace.paths, "share", asdict(share), number=number)
    return share


def leave_team(workspace: Workspace, project: str) -> tuple[ShareSettings, ...]:
    """Withdraw the shared lines of a project and stop sharing it. Returns the removed settings.

    Raises UsageError if the project is not shared, StoreError.
    """
    scope = workspace.find_scope(project)
    left = tuple(share for share in _list_shares(workspace) if share.project == scope)
    if not left:
        raise UsageError(f"{project!r} is shared with nobody", hint="see `kept team`")
    with _connect(workspace) as server:
        for share in left:
            server.share(share.team, ())
    for number in reversed(range(len(_list_shares(workspace)))):
        if _list_shares(workspace)[number] in left:
            remove_table_item(workspace.paths, "share", number)
    return left


def update_teams(workspace: Workspace, run: RunNumber) -> tuple[str, ...]:
    """Send this person's shared lines to each team, and compare the lines of teammates with the memories here.

    Lines of teammates that may contradict a memory here are held. Lines that they share no longer are forgotten. Returns messages
    about teams that could not be updated.
    """
    problems, still_shared, unread = [], set[str](), set[str]()
    for share in _list_shares(workspace):
        try:
            with _connect(workspace) as server:
                server.share(share.team, _lines_to_share(workspace, share))
                owner, lines = server.owner, server.shared(share.team)
        except (StoreError, ConfigError) as error:
            problems.append(f"the team {share.team} is not up to date: {error}")
            unread.add(_place(share))
        else:
            still_shared.update(_hold_contradictions(workspace, run, share, [line for line in lines if line.owner != owner]))
    log = workspace.store.log
    for memory in log.held():
        if memory.trigger == TEAM and memory.id not in still_shared and memory.evidence[0].path not in unread:
            forget = Forget(memory=memory.id, at=workspace.clock(), reason="shared no more", fingerprints=())
            with workspace.store.transaction():
                log.erase_memory(memory.id, frozenset(), (), run.commit(TEAM, (forget,), subject=memory.id))
    return tuple(problems)


def _hold_contradictions(workspace: Workspace, run: RunNumber, share: ShareSettings, lines: Sequence[SharedLine]) -> Iterator[str]:
    """Hold each line of others that may contradict an active memory of the project. It does not matter which of them is older.

    Yields the ids of the held memories.
    """
    log, now = workspace.store.log, workspace.clock()
    mine = [memory for memory in log.memories() if memory.scope == share.project and memory.status_at(now) is Status.ACTIVE]
    texts = [*(memory.content for memory in mine), *(line.content for line in lines)]
    sayings = [parse_value_statement(text, parse_statement(text)) for text in texts]
    # Own statements are before and after those of others, so that both orders are compared.
    both = [*sayings, *sayings[: len(mine)]]
    for one, other, _ in find_value_pairs(both) if lines else ():
        at, place = sorted((one % len(texts), other % len(texts)))
        if at < len(mine) <= place:
            memory, line = mine[at], lines[place - len(mine)]
            number = digest(TEAM, share.team, line.owner, line.content, size=5)
            if log.memory(number) is None:
                with suppress(UsageError):  # the text cannot be the text of a memory
                    content = clean_memory_text(workspace, line.content)
                    held = hold_conflict(number, memory, content, now, path=_place(share), by=line.owner)
                    run.commit(TEAM, (held,), subject=number)
            yield number


def _place(share: ShareSettings) -> str:
    return f"the team {share.team}"


def list_team_facts(workspace: Workspace) -> tuple[TeamFact, ...]:
    """The facts that the teams in the settings share. Lines with equal words form one fact with several witnesses.

    Raises StoreError.
    """
    found: list[TeamFact] = []
    if _list_shares(workspace):
        with _connect(workspace) as server:
            for share in _list_shares(workspace):
                found += _group_lines(workspace, share, server.shared(share.team))
    return tuple(found)


def accept_fact(workspace: Workspace, line_id: str, *, agent: bool = False) -> Memory:
    """Add a fact of a team as a memory of this person. It is held if an ``agent`` accepts it. Raises UsageError, StoreError."""
    known = {fact.id: fact for fact in list_team_facts(workspace)}
    fact = find_by_prefix(known, line_id, f"no team shares a line with the id {line_id!r}", "see `kept team` for ids")
    category = fact.category if workspace.profile.category(fact.category) else workspace.profile.categories[0].id
    scope = next(share.project for share in _list_shares(workspace) if share.team == fact.team)
    for held in workspace.store.log.held():
        if held.trigger == TEAM and held.scope == scope and normal_form(held.content) == normal_form(fact.content):
            return held if agent else approve(workspace, held.id)
    by = " and ".join(line.owner for line in fact.witnesses)
    return create_memory(workspace, fact.content, category, scope=scope, agent=agent, told_by=f"{by} in the team {fact.team}")


@dataclass(frozen=True, kw_only=True)
class SharedLines:
    """The erasure holder of the lines that this person shares with teams."""

    workspace: Workspace
    name: str = "lines shared with teams"
    claims: tuple[str, ...] = ()

    def find(self, words: ErasureWords) -> Iterator[ErasureMatch]:
        """The lines that contain the words."""
        for share, line in self._own_lines():
            if _holds(words, line):
                yield ErasureMatch(holder=self.name, where=share.team, text=words.excerpt(f"{line.content} {line.quote}"))

    def erase(self, words: ErasureWords) -> int:
        """Withdraw the lines that contain the words. Returns their number. Raises StoreError."""
        found = 0
        for share in _list_shares(self.workspace):
            lines = [line for shared, line in self._own_lines() if shared == share]
            kept = [line for line in lines if not _holds(words, line)]
            if len(kept) < len(lines):
                found += len(lines) - len(kept)
                with _connect(self.workspace) as server:
                    server.share(share.team, kept)
        return found

    def _own_lines(self) -> Iterator[tuple[ShareSettings, SharedLine]]:
        if _list_shares(self.workspace):
            with _connect(self.workspace) as server:
                owner = server.owner
                for share in _list_shares(self.workspace):
                    yield from ((share, line) for line in server.shared(share.team) if line.owner == owner)


def _holds(words: ErasureWords, line: SharedLine) -> bool:
    return line.id in words.memories or words.is_in_text(line.content) or words.is_in_text(line.quote)


def _list_shares(workspace: Workspace) -> tuple[ShareSettings, ...]:
    """The shares in the settings. Empty in the store of a :mod:`kept.api` user, because it has the settings of another home."""
    return () if workspace.paths.settings_folder else workspace.settings.share


def _connect(workspace: Workspace) -> "closing[PostgresServer]":
    if not workspace.settings.store.url:
        raise ConfigError("sharing needs the server of store.url", hint="kept migrate --to URL (docs/team.md)")
    return closing(connect_server(workspace.settings.store.url))


def _lines_to_share(workspace: Workspace, share: ShareSettings) -> Sequence[SharedLine]:
    """The lines to share: the active memories of the project that the person decided on.

    If ``share.what`` is ``certain``, memories from the person's own words are also shared. If it is ``nothing``, no line is.
    """
    if share.what == "nothing" or share.project == USER_SCOPE:
        return ()
    now = workspace.clock()
    return [
        SharedLine(
            owner="",
            id=memory.id,
            category=memory.category,
            content=memory.content,
            quote=memory.evidence[0].quote if share.quotes and memory.evidence else "",
            at=memory.last_seen.isoformat() if memory.last_seen else "",
        )
        for memory in workspace.store.log.memories()
        if memory.scope == share.project
        and memory.content
        and memory.status_at(now) is Status.ACTIVE
        and (memory.settled or (share.what == "certain" and memory.origin is Origin.USER))
    ]


def _group_lines(workspace: Workspace, share: ShareSettings, lines: Sequence[SharedLine]) -> Iterator[TeamFact]:
    here = {normal_form(memory.content) for memory in workspace.store.log.memories() if memory.scope == share.project}
    groups: dict[str, list[SharedLine]] = {}
    for line in lines:
        groups.setdefault(normal_form(line.content), []).append(line)
    for form, witnesses in groups.items():
        yield TeamFact(
            id=digest(share.team, form, size=5),
            team=share.team,
            project=share.project,
            category=witnesses[0].category,
            content=witnesses[0].content,
            witnesses=tuple(witnesses),
            known=form in here,
        )
