"""Writes a wheel out of an installed tree: wheel.py --tree DIR --source DIR --version V --platform P --out DIR

The tree goes in as it is, so that `pip install` puts bin/, lib/, include/ and share/ into the
environment and the command finds ../lib/tidemark as it does in any installation; only the pages
(share/doc) stay behind. The Python package, which the guest has in lib/tidemark/python, goes into
site-packages, too. Byte for byte the same for the same tree: names are sorted, times are
SOURCE_DATE_EPOCH, permissions are 755 or 644.
"""
import argparse
import base64
import hashlib
import os
import re
import stat
import sys
import time
import zipfile
from pathlib import Path

PACKAGE = Path("lib/tidemark/python/tidemark")

METADATA = """\
Metadata-Version: 2.4
Name: tidemark
Version: {version}
Summary: Where the GPU memory of a PyTorch training goes: the peak, who holds it, what lowers it
License-Expression: MIT
License-File: LICENSE
Keywords: pytorch,cuda,memory,profiler,out-of-memory,training
{classifiers}
Requires-Python: >=3.9
Provides-Extra: parquet
Requires-Dist: adbc-driver-sqlite; extra == "parquet"
Requires-Dist: numpy; extra == "parquet"
Requires-Dist: pyarrow; extra == "parquet"
Description-Content-Type: text/markdown

{description}"""

CLASSIFIERS = [
    "Development Status :: 3 - Alpha",
    "Environment :: Console",
    "Environment :: GPU :: NVIDIA CUDA",
    "Intended Audience :: Developers",
    "Intended Audience :: Science/Research",
    "Operating System :: POSIX :: Linux",
    "Programming Language :: C",
    "Programming Language :: Python :: 3",
    "Topic :: Scientific/Engineering :: Artificial Intelligence",
    "Topic :: Software Development :: Debuggers",
]


def description(readme):
    """The README without what leads into the source: an index shows the page alone."""
    page = re.sub(r"!\[[^]]*\]\((?![a-z]+:)[^)]*\)\n*", "", readme)
    return re.sub(r"\[([^]]*)\]\((?![a-z]+:)[^)]*\)", r"\1", page)


def entry_points(source, package):
    """What python/entry_points.txt says, without the modules that the package has not: one such
    would end every pytest of the environment."""
    kept = []
    for line in (source / "python/entry_points.txt").read_text(encoding="utf-8").splitlines():
        module = re.match(r"[^[=]+= *tidemark\.([a-z_.]+)", line)
        if module and not (package / (module[1].replace(".", "/") + ".py")).exists():
            print(f"wheel.py: left out, for there is no such module: {line}", file=sys.stderr)
        else:
            kept.append(line)
    return "\n".join(kept) + "\n"


def metadata(source, version, package, entries):
    classifiers = list(CLASSIFIERS)
    if (package / "py.typed").exists():
        classifiers.append("Typing :: Typed")
    if "pytest_plugin" in entries:
        classifiers.append("Framework :: Pytest")
    return METADATA.format(
        version=version,
        classifiers="\n".join("Classifier: " + line for line in sorted(classifiers)),
        description=description((source / "README.md").read_text(encoding="utf-8")),
    )


def files_below(folder):
    """Relative names, sorted, without what an interpreter left there. A link would not survive."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            raise SystemExit(f"wheel.py: {path} is a link, and a wheel has none")
        if path.is_file() and "__pycache__" not in path.parts:
            yield path.relative_to(folder)


def contents(tree, source, version, platform):
    """Pairs of a name in the wheel and a file or text."""
    data = f"tidemark-{version}.data"
    for name in files_below(tree / PACKAGE):
        yield f"tidemark/{name}", tree / PACKAGE / name
    for name in files_below(tree):
        if name.parts[0] == "bin":
            yield f"{data}/scripts/{Path(*name.parts[1:])}", tree / name
        elif name.parts[:2] != ("share", "doc"):
            yield f"{data}/data/{name}", tree / name
    info = f"tidemark-{version}.dist-info"
    entries = entry_points(source, tree / PACKAGE)
    yield f"{info}/licenses/LICENSE", source / "LICENSE"
    yield f"{info}/METADATA", metadata(source, version, tree / PACKAGE, entries)
    yield f"{info}/entry_points.txt", entries
    yield f"{info}/WHEEL", (
        "Wheel-Version: 1.0\nGenerator: tidemark packaging/wheel.py\n"
        f"Root-Is-Purelib: false\nTag: py3-none-{platform}\n"
    )


class Wheel:
    """A zip file, and the RECORD of what was put into it."""

    def __init__(self, path, epoch):
        self.zip = zipfile.ZipFile(path, "w")
        self.when = time.gmtime(max(epoch, 315532800))[:6]  # zip knows no time before 1980
        self.record = []

    def put(self, name, data, mode=0o644):
        info = zipfile.ZipInfo(name, self.when)
        info.create_system = 3  # Unix: the permissions count
        info.external_attr = (stat.S_IFREG | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data, compresslevel=9)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        self.record.append(f"{name},sha256={digest},{len(data)}\n")

    def close(self, record_name):
        self.put(record_name, ("".join(self.record) + f"{record_name},,\n").encode())
        self.zip.close()


def write(tree, source, version, platform, out):
    path = out / f"tidemark-{version}-py3-none-{platform}.whl"
    wheel = Wheel(path, int(os.environ["SOURCE_DATE_EPOCH"]))
    for name, what in contents(tree, source, version, platform):
        if isinstance(what, str):
            wheel.put(name, what.encode())
        else:
            wheel.put(name, what.read_bytes(), 0o755 if os.access(what, os.X_OK) else 0o644)
    wheel.close(f"tidemark-{version}.dist-info/RECORD")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("tree", "source", "out"):
        parser.add_argument("--" + name, type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--platform", required=True)
    options = parser.parse_args()
    print(write(options.tree, options.source, options.version, options.platform, options.out))


if __name__ == "__main__":
    main()
