"""Dataclasses that are fast to define and to create: kept has about 450 of them, and creates millions of events.

The standard library generates and compiles up to six methods for each class, which took a quarter of a run that finds nothing new.
Its ``__init__`` sets each field of a frozen value by a function call. Type checkers see ``dataclasses.dataclass``.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import field, fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

__all__ = ["dataclass", "field", "fields", "make_builder", "replace"]

Value = TypeVar("Value")

if TYPE_CHECKING:
    from dataclasses import dataclass, replace
else:

    def replace(value: Any, /, **changes: Any) -> Any:
        """A copy of a value with changes to some of its fields."""
        return value.__class__(**_read_fields(value.__class__)(value) | changes)

    def dataclass(*, frozen: bool = False, **options: Any) -> Any:
        """Decorate a class. The standard library decorates classes with positional fields, other options or other bases."""

        def define(cls: type) -> type:
            known = all(base is object or base.__eq__ is _is_equal for base in cls.__bases__)
            plain = known and options in ({"kw_only": True, "slots": True}, {"kw_only": True})
            return _define(cls, frozen=frozen, **options) if plain else dataclasses.dataclass(frozen=frozen, **options)(cls)

        return define


def _define(cls: type, *, frozen: bool, **options: Any) -> type:
    cls.__doc__ = cls.__doc__ or cls.__name__  # otherwise dataclasses computes the signature for the docstring
    for name, method in (_FROZEN_METHODS if frozen else _METHODS).items():
        if name not in cls.__dict__:
            setattr(cls, name, method)
    bases: list[Any] = [base for base in cls.__bases__ if base is not object]
    for base in bases:
        base.__dataclass_params__.frozen = False  # the standard library is not told that the class is frozen
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
    for each in (made, *bases):
        each.__dataclass_params__.frozen = frozen

    def make_first(self: Any, **values: Any) -> None:
        """Compile ``__init__`` when the first value is created, because most classes that a command loads are never used."""
        made.__init__ = _make_init(made)
        made.__init__(self, **values)

    made.__init__ = make_first
    return made  # type: ignore[no-any-return]


def _make_init(cls: Any) -> Any:
    """Make an ``__init__`` that fills the object as an unfrozen class of the same layout, in which setting a field is cheap."""
    parameters, lines, names = [], ["become(self, draft)"], {"become": _become, "cls": cls, "draft": _make_draft(cls)}
    for name, item in cls.__dataclass_fields__.items():
        by_factory = item.default_factory is not dataclasses.MISSING
        names[f"default_{name}"] = default = item.default_factory if by_factory else item.default
        parameters.append(name if default is dataclasses.MISSING else f"{name}=default_{name}")
        lines.append(f"self.{name} = {name}() if {name} is default_{name} else {name}" if by_factory else f"self.{name} = {name}")
    head = f"def __init__(self, {', '.join(['*', *parameters] if parameters else parameters)}):"
    exec("\n ".join((head, *lines, "self.__class__ = cls")), names)  # noqa: S102 - only field names, as in the standard library
    return names["__init__"]


def _make_draft(cls: Any) -> type:
    """An unfrozen class of the same layout."""
    slots = {name: cls.__slots__ for name in ("__slots__",) if name in cls.__dict__}
    return type(cls.__name__, cls.__bases__, {**slots, "__setattr__": object.__setattr__, "__delattr__": object.__delattr__})


@cache
def make_builder(cls: type[Value]) -> Callable[..., Value]:
    """A function that creates a value of a frozen class from all of its fields in their order, without default values.

    A call of the class takes three times as long, because Python puts its arguments into a dictionary.
    """
    names = [item.name for item in fields(cls)]  # type: ignore[arg-type]
    lines = (f"def build({', '.join(names)}):", "self = new(draft)", *(f"self.{name} = {name}" for name in names))
    scope: dict[str, Any] = {"new": object.__new__, "draft": _make_draft(cls), "cls": cls}
    exec("\n ".join((*lines, "self.__class__ = cls", "return self")), scope)  # noqa: S102 - as above
    return scope["build"]  # type: ignore[no-any-return]


@cache
def _read_fields(cls: Any) -> Callable[[Any], dict[str, Any]]:
    """Return a function that reads the fields of a value by name. It is faster than the standard library's ``replace``."""
    names = tuple(item.name for item in fields(cls))
    read = attrgetter(*names) if len(names) > 1 else lambda value: [getattr(value, name) for name in names]
    return lambda value: dict(zip(names, read(value), strict=True))


_become = object.__dict__["__class__"].__set__


def _values(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name, item in self.__dataclass_fields__.items() if item.compare])


def _represent(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name, item in self.__dataclass_fields__.items() if item.repr)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _is_equal(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _refuse(self: Any, name: str, *_: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"{name} of a {type(self).__name__} cannot be changed")


def _rebuild(cls: Any, *values: Any) -> Any:
    return cls(**dict(zip(cls.__dataclass_fields__, values, strict=True)))


def _reduce(self: Any) -> tuple[Any, ...]:
    return _rebuild, (type(self), *(getattr(self, name) for name in self.__dataclass_fields__))


_METHODS: dict[str, Any] = {"__repr__": _represent, "__eq__": _is_equal, "__hash__": None}
_FROZEN_METHODS: dict[str, Any] = {
    "__repr__": _represent,
    "__eq__": _is_equal,
    "__hash__": _hash,
    "__setattr__": _refuse,
    "__delattr__": _refuse,
    "__reduce__": _reduce,
}
