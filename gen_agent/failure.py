"""What every error is: a class with a code and named fields, equal by them, and cheap to copy.

An error is a value first: it travels in messages, is compared, stored and counted, and is raised last, as a
fresh copy. Which errors there are is told in `errors`; this module knows none of them and imports nothing of
the package.
"""

from __future__ import annotations

import reprlib
from typing import Any, ClassVar, TypeVar

_Self = TypeVar("_Self", bound="GenAgentError")

_PLAIN = (str, int, float, type(None))

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 500


class GenAgentError(Exception):
    """Base of all errors of this package.

    A subclass names its fields by annotating them, in order, with defaults where there are any; a subclass
    without annotations has those of its parent. Fields are given by position or by keyword; `TypeError` for
    what doesn't fit. Fields named in `payload` may hold what users and providers wrote: `repr` leaves them
    out.
    """

    code: ClassVar[str] = "error"
    payload: ClassVar[frozenset[str]] = frozenset()
    names: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = tuple(name for name, hint in cls.__annotations__.items() if "ClassVar" not in str(hint))
        if own:
            cls.names = own

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__()
        if len(args) > len(self.names):
            raise TypeError(f"{type(self).__name__}: at most {len(self.names)} fields, not {len(args)}")
        given = dict(zip(self.names, args, strict=False))
        if wrong := [name for name in fields if name in given or name not in self.names]:
            raise TypeError(f"{type(self).__name__}: unknown or repeated field {wrong[0]!r}")
        given.update(fields)
        if missing := [name for name in self.names if name not in given and not hasattr(type(self), name)]:
            raise TypeError(f"{type(self).__name__}: missing field {missing[0]!r}")
        for name, value in given.items():
            setattr(self, name, value)
        self.args = self._values()

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.names)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields and their values, in order."""
        return dict(zip(self.names, self._values(), strict=True))

    def fresh(self: _Self) -> _Self:
        """A copy without traceback, cause or notes: what is raised to a user, each time anew."""
        return type(self)(*self._values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GenAgentError):
            return NotImplemented
        return type(self) is type(other) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), *(value if isinstance(value, _PLAIN) else "" for value in self._values())))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._values()

    def _shown(self, hidden: frozenset[str]) -> str:
        pairs = self.fields.items()
        return ", ".join(f"{name}={_short.repr(value)}" for name, value in pairs if name not in hidden)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._shown(self.payload)})"

    def __str__(self) -> str:
        shown = self._shown(frozenset({"raw"}))
        return f"{self.code}: {shown}" if shown else self.code
