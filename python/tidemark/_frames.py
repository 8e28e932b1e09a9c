"""Rows of a report as a frame of pandas or polars, or as they are: a list of dicts."""
from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any, Dict, List, Sequence

from tidemark._command import Unavailable

Rows = List[Dict[str, Any]]
KINDS = ("pandas", "polars", "dicts")


def choose(asked: str) -> str:
    """Which kind "auto" is: what the program has imported, else what is installed, else dicts."""
    if asked in KINDS:
        return asked
    if asked != "auto":
        raise ValueError("frames are auto, %s; not %r" % (", ".join(KINDS), asked))
    for name in KINDS[:2]:
        if name in sys.modules:
            return name
    for name in KINDS[:2]:
        if importlib.util.find_spec(name) is not None:
            return name
    return "dicts"


def module_of(kind: str) -> Any:
    try:
        return importlib.import_module(kind)
    except ImportError as error:
        raise Unavailable("frames need %s: %s" % (kind, error)) from error


def columns_of(rows: Rows) -> List[str]:
    names: Dict[str, None] = {}
    for row in rows:
        names.update(dict.fromkeys(row))
    return list(names)


def is_whole(values: Sequence[Any]) -> bool:
    """Whole numbers with gaps, which pandas would turn into floats: 64 bits must stay exact."""
    known = [value for value in values if value is not None]
    return len(known) > 0 and all(type(value) is int for value in known)


def to_pandas(rows: Rows) -> Any:
    pandas = module_of("pandas")
    data = {}
    for name in columns_of(rows):
        values = [row.get(name) for row in rows]
        exact = None in values and is_whole(values)
        data[name] = pandas.Series(values, dtype="Int64" if exact else None)
    return pandas.DataFrame(data)


def to_polars(rows: Rows) -> Any:
    return module_of("polars").DataFrame(rows, infer_schema_length=None)


def make(rows: Rows, kind: str) -> Any:
    if kind == "pandas":
        return to_pandas(rows)
    if kind == "polars":
        return to_polars(rows)
    return [dict(row) for row in rows]
