"""The line of every instruction, and every string, of the code objects of the standard library,
against Python's own tables. Argument: of how many files, or `all`."""
import ctypes
import os
import sys
import sysconfig
import types

import support

support.begin()
support.with_gil.probe_site()
lines_of = support.with_gil.probe_lines
lines_of.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
text_of = support.with_gil.probe_text
text_of.argtypes = [ctypes.py_object, ctypes.c_void_p, ctypes.c_int]
room = ctypes.create_string_buffer(1 << 16)
counts = {"files": 0, "code objects": 0, "instructions": 0, "strings": 0}
wrong = []


def python_lines(code):
    """For each unit of two bytes, the line or 0, by the interpreter."""
    units = len(code.co_code) // 2
    if hasattr(code, "co_positions"):
        return [position[0] or 0 for position in code.co_positions()]
    if hasattr(code, "co_lines"):
        lines = [0] * units
        for start, end, line in code.co_lines():
            lines[start // 2:end // 2] = [line or 0] * (end // 2 - start // 2)
        return lines
    address_to_line = ctypes.pythonapi.PyCode_Addr2Line
    address_to_line.argtypes = [ctypes.py_object, ctypes.c_int]
    return [address_to_line(code, 2 * i) for i in range(units)]


def check_lines(code):
    expected = python_lines(code)
    out = (ctypes.c_uint32 * len(expected))()
    got = lines_of(code, out, len(expected))
    counts["instructions"] += len(expected)
    if got != len(expected) or list(out) != expected:
        wrong.append("%s %s: lines" % (code.co_filename, code.co_name))


def check_text(string):
    expected = support.text(string).encode("utf-8")
    got = text_of(string, room, len(room))
    counts["strings"] += 1
    if len(expected) > len(room):
        expected = expected[:max(got, 0)]
        if got < len(room) - 3:
            got = -1
    if got != len(expected) or room.raw[:got] != expected:
        wrong.append("string %r" % string[:50])


def check(code):
    counts["code objects"] += 1
    check_lines(code)
    check_text(code.co_name)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            check(constant)
        elif isinstance(constant, str):
            check_text(constant)


def files():
    for folder, folders, names in os.walk(sysconfig.get_paths()["stdlib"]):
        folders[:] = sorted(f for f in folders if f not in ("site-packages", "dist-packages"))
        for name in sorted(names):
            if name.endswith(".py"):
                yield os.path.join(folder, name)


class Text(str):
    pass


limit = None if sys.argv[2] == "all" else int(sys.argv[2])
every = sorted(files())
for path in every if limit is None else every[::max(1, len(every) // limit)]:
    try:
        with open(path, "rb") as source:
            code = compile(source.read(), path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, UnicodeDecodeError):
        continue
    counts["files"] += 1
    check(code)
for string in ("", "a", "\xe9" * 7, "\u65e5\u672c", "\U0001f600x", "\ud800", "nul\0", "x" * 70000,
               "\u65e5" * 30000, Text("sub"), Text("\u65e5sub")):
    check_text(string)
print(", ".join("%d %s" % (counts[key], key) for key in counts))
for line in wrong[:5]:
    print("FAILED", line)
sys.exit(1 if wrong or counts["code objects"] < 100 else 0)
