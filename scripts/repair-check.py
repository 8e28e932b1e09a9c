#!/usr/bin/env python3
"""repair-check.py TIDEMARK [RECORDING [ROUNDS]]: what `tidemark repair` and sqlite3's own .recover
save of the same damaged files, by kind of damage.

RECORDING is a sound one; without it one is made of a short program. Each round damages a copy of it by a
seed of its own. Of the facts, which are all tables that cannot be made anew: rows that both files have
are `saved`; rows of the new file that the sound one never had are `wrong`. SQLITE3 names the command,
if it is not the path's: Debian 12's recovers nothing, for its library is built without sqlite_dbpage.
"""
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile

DERIVED = {"keyframe", "curve"}
NOTED = {"meta", "lost"}  # where repair says what it did
SQLITE3 = os.environ.get("SQLITE3", "sqlite3")


def page_bytes(path):
    with open(path, "rb") as file:
        head = file.read(100)
    size = int.from_bytes(head[16:18], "big")
    return 65536 if size == 1 else size


def rows_of(path):
    """Each fact's rows as texts, or None where SQLite cannot read the table."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    db.text_factory = lambda data: data.decode("utf-8", "replace")
    out = {}
    try:
        names = [name for (name,) in db.execute(
            "SELECT name FROM sqlite_schema WHERE type='table' AND name NOT LIKE 'sqlite%' "
            "AND name NOT LIKE 'lost_and_found%'") if name not in DERIVED]
        for name in names:
            try:
                out[name] = set(map(repr, db.execute(f'SELECT * FROM "{name}"')))
            except sqlite3.Error:
                pass
    except sqlite3.Error:
        pass
    db.close()
    return out


def zeros(data, dice, page):
    at = dice.randrange(1, len(data) // page) * page
    data[at:at + page] = bytes(page)


def noise(data, dice, page):
    at = dice.randrange(1, len(data) // page) * page
    data[at:at + page] = dice.randbytes(page)


def flips(data, dice, page):
    for _ in range(20):
        data[dice.randrange(page, len(data))] ^= 1 << dice.randrange(8)


def cut(data, dice, page):
    del data[dice.randrange(len(data) // 4, len(data)):]


def first(data, dice, page):
    data[:page] = dice.randbytes(page)


def swapped(data, dice, page):
    a, b = (dice.randrange(1, len(data) // page) * page for _ in range(2))
    data[a:a + page], data[b:b + page] = data[b:b + page], data[a:a + page]


def old(data, dice, page):
    """A page of another place, as a write that went astray leaves it."""
    a, b = (dice.randrange(1, len(data) // page) * page for _ in range(2))
    data[a:a + page] = data[b:b + page]


KINDS = [zeros, noise, flips, cut, first, swapped, old]


def ours(tidemark, bad, folder):
    out = os.path.join(folder, "ours.db")
    subprocess.run([tidemark, "repair", bad, "-o", out], capture_output=True, check=False)
    return rows_of(out) if os.path.exists(out) else {}


def theirs(bad, folder):
    out = os.path.join(folder, "theirs.db")
    with subprocess.Popen([SQLITE3, bad, ".recover"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as recover:
        subprocess.run([SQLITE3, out], stdin=recover.stdout, capture_output=True, check=False)
    return rows_of(out) if os.path.exists(out) else {}


def compare(sound, saved):
    right = sum(len(sound[name] & saved.get(name, set())) for name in sound)
    wrong = sum(len(saved.get(name, set()) - sound[name]) for name in sound if name not in NOTED)
    return right, wrong


def main():
    tidemark = os.path.abspath(sys.argv[1])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    top = tempfile.mkdtemp(prefix="tidemark-repair-")
    if len(sys.argv) > 2:
        recording = sys.argv[2]
    else:
        recording = os.path.join(top, "run.db")
        subprocess.run([tidemark, "record", "-o", recording, "--", "/usr/bin/python3", "-c",
                        "import torch\nx = [torch.ones(9, i) for i in range(1, 3000)]"], check=True,
                       capture_output=True)
    with open(recording, "rb") as file:
        whole = file.read()
    sound = rows_of(recording)
    total = sum(map(len, sound.values()))
    print(f"{total} rows of facts in {len(whole)} bytes; {rounds} files of each kind")
    print(f"{'damage':10} {'repair saved':>13} {'wrong':>6} {'.recover saved':>15} {'wrong':>6}"
          f" {'ours more':>10} {'theirs more':>12}")
    for kind in KINDS:
        sums = [0] * 6
        for seed in range(rounds):
            folder = tempfile.mkdtemp(dir=top)
            data = bytearray(whole)
            kind(data, random.Random(f"{kind.__name__}{seed}"), page_bytes(recording))
            bad = os.path.join(folder, "bad.db")
            with open(bad, "wb") as file:
                file.write(data)
            a, a_wrong = compare(sound, ours(tidemark, bad, folder))
            b, b_wrong = compare(sound, theirs(bad, folder))
            for i, value in enumerate((a, a_wrong, b, b_wrong, a > b, b > a)):
                sums[i] += value
            shutil.rmtree(folder)
        share = [100.0 * sums[i] / (total * rounds) for i in (0, 2)]
        print(f"{kind.__name__:10} {share[0]:12.2f}% {sums[1]:6} {share[1]:14.2f}% {sums[3]:6}"
              f" {sums[4]:10} {sums[5]:12}", flush=True)
    shutil.rmtree(top)


main()
