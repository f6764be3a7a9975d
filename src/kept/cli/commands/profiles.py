"""``kept profiles``: list, show, copy and migrate profiles."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kept.changes import apply_person_change
from kept.cli.command_support import command_home, command_workspace
from kept.cli.commands.edit import print_problems
from kept.cli.console import Line, format_count, format_path, format_size, hanging_line, line, write_answer, write_json, write_lines
from kept.cli.registry import GlobalOptions
from kept.core.codec import dump
from kept.core.errors import ConfigError, UsageError
from kept.core.redact import refuse_secrets
from kept.local import files
from kept.memories import configure
from kept.memories.migrate import MigrationReport, migrate_profile
from kept.paths import Paths
from kept.profiles import list_profiles, load_profile, read_profile_text
from kept.profiles.profile import INTENTS, Category, Occasion, Profile

_NAMES = {"list": (0, 0), "show": (0, 1), "new": (1, 1), "migrate": (2, 2)}


def profiles(
    call: GlobalOptions,
    action: str = "list",
    names: list[str] | None = None,
    *,
    like: str = "coding",
    mapping: list[str] | None = None,
    dry_run: bool = False,
    as_json: bool = False,
) -> int:
    """List profiles, show one, copy one to make your own, migrate memories to another.

    The settings `profile`, `profiles` and `[[use]]` select the profile of each source and project.
    """
    given = names or []
    least, most = _NAMES.get(action, (1, 0))
    if not least <= len(given) <= most:
        raise UsageError("wrong arguments for profiles", hint="kept profiles [list] | show [NAME] | new NAME | migrate FROM TO")
    home = command_home(call)
    match action:
        case "new":
            return _create_profile(home, given[0], like)
        case "migrate":
            return _migrate_memories(call, given, mapping or [], dry=dry_run, as_json=as_json)
        case "show":
            return _show_profile(home, given[0] if given else _chosen_profile(call, home), as_json=as_json)
        case _:
            return _list_profiles(call, home, as_json=as_json)


def _chosen_profile(call: GlobalOptions, home: Paths) -> str:
    return call.profile or str(configure.load_setting(home, "profile"))


def _profiles_folder(home: Paths) -> Path:
    return home.config / "profiles"


def _list_profiles(call: GlobalOptions, home: Paths, *, as_json: bool) -> int:
    folder, chosen = _profiles_folder(home), _chosen_profile(call, home)
    load_profile(chosen, folder)  # raises an error if it is invalid
    used = {chosen, *configure.load_setting(home, "profiles"), *(item["profile"] for item in configure.load_setting(home, "use"))}
    loaded: dict[str, Profile | str] = {}
    for name in list_profiles(folder):
        try:
            loaded[name] = load_profile(name, folder)
        except ConfigError as error:
            loaded[name] = str(error)
    if as_json:
        write_json([_profile_body(name, profile, chosen, used) for name, profile in loaded.items()])
        return 0
    lines: list[Line] = []
    for name, profile in loaded.items():
        mark = "  in use" if name == chosen else "  also in use" if name in used else ""
        text = profile if isinstance(profile, str) else profile.summary
        lines.append(hanging_line([(f"{name}  ", "bold")], text, (mark, "green")))
        if isinstance(profile, Profile) and (name == chosen or call.verbose):
            lines += _category_summary(profile)
    write_lines([*lines, line((f"Your own: {format_path(folder)}/NAME.toml", "dim"), " → kept profiles new NAME --like coding")])
    return 0


def _profile_body(name: str, profile: Profile | str, chosen: str, used: set[str]) -> dict[str, Any]:
    body: dict[str, Any] = {"id": name, "used": name == chosen, "at_work": name in used}
    if isinstance(profile, str):
        return body | {"problem": profile}
    return body | {
        "title": profile.title,
        "summary": profile.summary,
        "categories": [category.id for category in profile.categories],
    }


def _category_summary(profile: Profile) -> list[Line]:
    width = max(len(category.id) for category in profile.categories)
    return [
        hanging_line([("  ", ""), (f"{category.id:<{width}}  ", "cyan")], category.belongs, (_excluded(category), "dim"))
        for category in profile.categories
    ]


def _show_profile(home: Paths, name: str, *, as_json: bool) -> int:
    profile = load_profile(name, _profiles_folder(home))
    write_answer(lambda: dump(profile), _format_profile(profile), as_json=as_json)
    return 0


def _format_profile(profile: Profile) -> Iterator[Line]:
    yield line((profile.title, "bold"), (f"  {profile.id}", "dim"))
    yield hanging_line([("", "")], profile.summary)
    when = ", ".join(occasion.value for occasion in Occasion if profile.when.on(occasion))
    yield line(("extracted: ", "cyan"), when, (f"; {profile.buffer.least} to {profile.buffer.most} events together", "dim"))
    outputs = profile.outputs
    written = [
        (outputs.memory_file, f"at most {format_size(outputs.memory_bytes)}, {outputs.memory_lines} lines"),
        (outputs.card_file, f"at most {outputs.card_chars:,} characters"),
        (outputs.daily_folder, "a note for each day"),
        (outputs.pages_folder, f"pages of at most {format_size(outputs.page_bytes)}"),
        (outputs.view_file, f"what matters most as JSON, at most {format_size(outputs.view_bytes)}"),
        ("CLAUDE.md" if outputs.project_section else "", f"the section “{outputs.section}” in each project"),
        (".claude/rules" if outputs.project_rules else "", "rules in each project"),
    ]
    for path, text in written:
        if path:
            yield line(("writes: ", "cyan"), path, (f"  {text}", "dim"))
    for category in profile.categories:
        yield from _category_lines(profile, category)


def _excluded(category: Category) -> str:
    return f" Not: {category.excludes}" if category.excludes else ""


def _category_lines(profile: Profile, category: Category) -> Iterator[Line]:
    yield line()
    yield line((category.title, "bold"), (f"  {category.id}", "dim"))
    yield hanging_line([("  belongs  ", "cyan")], category.belongs)
    if category.excludes:
        yield hanging_line([("  not      ", "cyan")], category.excludes)
    for example in category.examples:
        yield hanging_line([("  such as  ", "cyan")], f"“{example}”")
    yield hanging_line([("  many     ", "cyan")], f"{category.shape.value}: {category.consolidation}")
    fades = f"loses half its weight after {category.half_life} days without confirmation" if category.half_life else "does not fade"
    gates = [
        name
        for name, on in (
            ("the user's words", category.users_words),
            ("no tool's words", not category.users_words and not category.tool_words),
            ("a concrete artifact", category.specific),
        )
        if on
    ]
    yield hanging_line(
        [("  needs    ", "cyan")],
        f"confidence {category.floor}{''.join(f', {gate}' for gate in gates)}; {fades}; weight {category.weight}",
    )
    shown, writers = (", ".join(place.value for place in category.shown_in), ", ".join(writer.value for writer in category.writers))
    most = f", at most {category.budget} of a project" if category.budget else ""
    yield hanging_line([("  shown    ", "cyan")], f"{shown}{most}; written by {writers}")
    filed = [
        f"{intent} ({meaning})"
        for intent, meaning in INTENTS.items()
        if (kind := profile.category_for(intent)) and kind.id == category.id
    ]
    if filed:
        yield hanging_line([("  filed    ", "cyan")], "; ".join(filed))


def _create_profile(home: Paths, name: str, like: str) -> int:
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
        raise UsageError(f"a profile cannot be called {name!r}", hint="letters, digits, - and _")
    refuse_secrets(name)
    if name in list_profiles(_profiles_folder(home)):
        raise UsageError(f"there is a profile {name!r} already", hint=f"kept profiles show {name}")
    text, _ = read_profile_text(like, _profiles_folder(home))
    path = _profiles_folder(home) / f"{name}.toml"
    lines = [
        f'id = "{name}"' if text_line.startswith("id = ") and number < _HEAD else text_line
        for number, text_line in enumerate(text.splitlines())
    ]
    files.write_if_unchanged(path, ("\n".join(lines) + "\n").encode(), expect=files.read_file(path).stamp, root=home.root)
    hint = f" → edit it, then: kept profiles show {name}; kept config set profile {name}"
    write_lines([line(("Made ", "green"), format_path(path), hint)])
    return 0


_HEAD = 12  # lines at the start of a profile that are searched for its id


def _migrate_memories(call: GlobalOptions, given: list[str], mapping: list[str], *, dry: bool, as_json: bool) -> int:
    wanted = dict(_parse_pair(item) for item in mapping)
    with command_workspace(call) as workspace:
        done, written = apply_person_change(workspace, lambda: migrate_profile(workspace, given[0], given[1], wanted, dry=dry))
        if as_json:
            write_json({"mapping": dict(done.mapping), "moved": dict(done.moved), "stayed": dict(done.stayed), "dry": dry})
        else:
            write_lines(_format_migration(done, dry=dry))
        return print_problems(written)


def _parse_pair(text: str) -> tuple[str, str]:
    left, equals, right = text.partition("=")
    if not equals:
        raise UsageError(f"--map cannot be {text!r}", hint="--map decision=project_context, or --map decision= to leave it")
    return left.strip(), right.strip()


def _format_migration(done: MigrationReport, *, dry: bool) -> Iterator[Line]:
    for name, kind in sorted(done.mapping.items()):
        count = done.moved.get(name, 0)
        yield line((f"  {name} → {kind}", "cyan"), f"  {format_count(count, 'memory')}")
    for name, count in sorted(done.stayed.items()):
        yield line((f"  {name} stays", "yellow"), f"  {format_count(count, 'memory')}", f" → --map {name}=CATEGORY")
    total = sum(done.moved.values())
    text = f"{'Would migrate' if dry else 'Migrated'} {format_count(total, 'memory')}"
    yield line((text, "bold"), ("" if dry or not total else " → kept undo takes it back", "dim"))
