"""Move a home's store to a server and back. Each move is verified before the settings change."""

from kept.core.errors import UsageError
from kept.local.files import hold_lock
from kept.local.settings import load_settings, parse_settings
from kept.memories.configure import change_setting
from kept.paths import Paths
from kept.store.opening import connect_server
from kept.store.replica.store import ReplicaStore

_URL = "store.url"


def prepare_server(url: str) -> None:
    """Create the tables on a server, as the role in the URL. The owner of the tables can read every row, so it must not be the role
    of an owner of memories.

    Raises ConfigError, StoreError.
    """
    _check_url(url, "--prepare")
    connect_server(url, create=True).close()


def _check_url(url: str, where: str) -> None:
    parse_settings(f"[store]\nurl = {url!r}\n".encode(), where)


def move_to_server(home: Paths, url: str) -> None:
    """Move a home's store to a server. After an interruption, calling it again continues.

    The home's file stays as the local replica that reads use. Raises BusyError if a run is active, ConfigError for an unusable URL,
    UsageError if the server holds another store of this owner or the home already uses another server, StoreError, DamagedError.
    The settings are unchanged then.
    """
    _check_url(url, "--to")
    now = load_settings(home.settings).store.url
    if now and now != url:
        raise UsageError(f"what is remembered here lies on {now} already", hint="first take it back: kept migrate --to sqlite")
    if not home.store.exists():
        hint = f"kept run begins a memory; kept config set {_URL} URL takes part in one that is on the server"
        raise UsageError("nothing is remembered here yet", where=str(home.store), hint=hint)
    with hold_lock(home.lock):
        connect_server(url, create=True).close()
        with ReplicaStore(home.store, lambda: connect_server(url)) as store:
            store.move_to_server()
        change_setting(home, _URL, url)


def move_to_file(home: Paths, *, drop: bool) -> str:
    """Make the home's file the only copy of the store; ``drop`` also erases it on the server. Returns the server's URL.

    Raises BusyError, UsageError if the home has no server or shares lines there, StoreError, DamagedError. Nothing is changed then.
    """
    now = load_settings(home.settings)
    url = now.store.url
    if not url:
        raise UsageError("what is remembered here lies on no server", hint="kept migrate --to postgresql://ROLE@HOST/DATABASE")
    if now.share:
        raise UsageError(f"lines are shared there with {now.share[0].team}", hint="first take them back: kept team leave PROJECT")
    with hold_lock(home.lock):
        with ReplicaStore(home.store, lambda: connect_server(url)) as store:
            store.move_to_file(drop=drop)
        change_setting(home, _URL, "")
    return url
