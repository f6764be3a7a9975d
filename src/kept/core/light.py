"""Named tuples, JSON and instants as in the standard library, without its modules that take long to import.

Hooks use this module, because importing ``typing`` or ``json`` takes as long as starting the interpreter. The C modules below are
private to CPython. If one is missing, or behaves differently, the public module is used.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import UTC, datetime, timedelta
    from typing import Any, NamedTuple

    _json: Any
else:
    from operator import itemgetter

    Any = object  # for annotations
    try:
        from _datetime import datetime, timedelta, timezone

        UTC = timezone.utc
    except ImportError:
        from datetime import UTC, datetime, timedelta
    try:
        import _json
    except ImportError:
        _json = None

    class NamedTuple(tuple):
        """A base class like :class:`typing.NamedTuple`: annotated fields are the items of a tuple."""

        __slots__ = ()
        _fields = ()
        _field_defaults = {}  # noqa: RUF012 - each class gets its own

        def __init_subclass__(cls) -> None:
            own = cls.__dict__
            cls._fields = cls.__match_args__ = tuple(cls.__annotations__)
            cls._field_defaults = {field: own[field] for field in cls._fields if field in own}
            for place, field in enumerate(cls._fields):
                setattr(cls, field, property(itemgetter(place)))

        def __new__(cls, *values: Any, **named: Any) -> Any:  # noqa: D102 - as that of a tuple
            fields = cls._fields
            if named or len(values) != len(fields):
                rest = fields[len(values) :]
                given = {**cls._field_defaults, **named}
                if len(values) > len(fields) or not named.keys() <= set(rest) <= given.keys():
                    raise TypeError(f"{cls.__name__} has the fields {', '.join(fields)}")
                values += tuple(given[field] for field in rest)
            return tuple.__new__(cls, values)

        def __repr__(self) -> str:
            return f"{type(self).__name__}({', '.join(f'{field}={value!r}' for field, value in self._asdict().items())})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            return tuple(self)

        def _asdict(self) -> dict[str, Any]:
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **named: Any) -> Any:
            return type(self)(**{**self._asdict(), **named})


_INFINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": -float("inf")}


class _Defaults:
    """The attributes that the scanner reads from its decoder, with the defaults of :class:`json.JSONDecoder`."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, _INFINITE.__getitem__


def parse_json(text: str) -> Any:
    """Parse a text like :func:`json.loads`. Raises ValueError or RecursionError."""
    try:
        bare = text.strip(" \t\n\r")
        value, end = _json.make_scanner(_Defaults)(bare, 0)
        if end == len(bare):
            return value
    except (StopIteration, TypeError, ValueError, AttributeError):
        pass  # the text is not JSON, for which the public function has a better error, or the scanner is a different one
    import json  # noqa: PLC0415 - see above

    return json.loads(text)


def format_json(value: object) -> str:
    """Format a value like :func:`json.dumps`."""
    try:
        quote = _json.encode_basestring_ascii
        encode = _json.make_encoder(None, None, quote, None, ": ", ", ", False, False, True)  # noqa: FBT003 - as json calls it
        return "".join(encode(value, 0))
    except (TypeError, ValueError, AttributeError):
        import json  # noqa: PLC0415 - see above

        return json.dumps(value)


__all__ = ["TYPE_CHECKING", "UTC", "Any", "NamedTuple", "datetime", "format_json", "parse_json", "timedelta"]
