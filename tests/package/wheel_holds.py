"""wheel_holds.py WHEEL TREE: every file is as RECORD has it, none is missing, and the metadata is whole."""
import base64
import csv
import email
import hashlib
import io
import re
import sys
import zipfile
from pathlib import Path

wheel, tree = zipfile.ZipFile(sys.argv[1]), Path(sys.argv[2])
info = "tidemark-0.1.2.dist-info/"
data = "tidemark-0.1.2.data/"


def same(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found!r}, and {wanted!r} was expected")


def record_holds():
    rows = list(csv.reader(io.StringIO(wheel.read(info + "RECORD").decode())))
    same("names in RECORD", sorted(row[0] for row in rows), sorted(wheel.namelist()))
    same("the last line", rows[-1], [info + "RECORD", "", ""])
    for name, digest, size in rows[:-1]:
        content = wheel.read(name)
        wanted = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        same(name, (digest, size), ("sha256=" + wanted, str(len(content))))


def tree_is_whole():
    """All of the installation but its pages, each where pip puts it back into the same place."""
    for path in tree.rglob("*"):
        name = path.relative_to(tree)
        if not path.is_file() or name.parts[:2] == ("share", "doc"):
            continue
        where = f"scripts/{name.name}" if name.parts[0] == "bin" else f"data/{name}"
        same(str(name), wheel.read(data + where) == path.read_bytes(), True)
    for path in (tree / "lib/tidemark/python/tidemark").rglob("*.py"):
        name = path.relative_to(tree / "lib/tidemark/python")
        same(str(name), wheel.read(str(name)) == path.read_bytes(), True)
    same("the command's mode", wheel.getinfo(data + "scripts/tidemark").external_attr >> 16, 0o100755)
    same("at the top", "sitecustomize.py" in wheel.namelist(), False)


def metadata_is_whole():
    text = email.message_from_bytes(wheel.read(info + "METADATA"))
    same("name", (text["Name"], text["Version"]), ("tidemark", "0.1.2"))
    same("license", (text["License-Expression"], text["License-File"]), ("MIT", "LICENSE"))
    same("the license file", info + "licenses/LICENSE" in wheel.namelist(), True)
    same("extras", text.get_all("Provides-Extra"), ["parquet"])
    same("the page's kind", text["Description-Content-Type"], "text/markdown")
    page = text.get_payload()
    same("its beginning", page.startswith("# Tidemark\n"), True)
    same("links into the source", re.findall(r"\]\((?![a-z]+:)[^)]*\)", page), [])
    for name in re.findall(r"= *([a-z_.]+)", wheel.read(info + "entry_points.txt").decode()):
        same("an entry point", name.replace(".", "/") + ".py" in wheel.namelist(), True)
    tag = email.message_from_bytes(wheel.read(info + "WHEEL"))
    same("tag", (tag["Tag"], tag["Root-Is-Purelib"]), ("py3-none-manylinux_2_28_x86_64", "false"))


record_holds()
tree_is_whole()
metadata_is_whole()
