"""Options as people type them: `-o key=value`.

Pure functions; this module must not know any library or the rest of the command.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_WORDS = {"true": True, "false": False, "none": None, "null": None}
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def parse_value(text: str) -> Any:
    """The value that `text` stands for: a bool, None, a whole number, a number; else the text itself.

    Text in single or double quotes is text, whatever it looks like.
    """
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _WHOLE.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text)
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text


def parse_option(text: str) -> tuple[str, Any]:
    """Name and value of one `key=value`; raises `ValueError` saying what is wrong. A
    dash in a name is "_".
    """
    name, equals, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if not equals:
        raise ValueError(f"{text!r} has no '='; write key=value")
    if not name.isidentifier():
        raise ValueError(f"{name!r} is no name of an option")
    return name, parse_value(value)


def parse_capability(text: str) -> tuple[str, Any]:
    """Name and value of one `key=value`, where the name may be any text; raises `ValueError`."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ValueError(f"{text!r} is no capability; write key=value")
    return name.strip(), parse_value(value)


def printable(text: str) -> str:
    """`text` without the control characters by which it could command a terminal; line ends and tabs stay."""
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) != "Cc")
