"""A second reader of the bytes in a page (viewer-cli/html/data.h), so that the page's own is not
what is believed when it is tested."""
import base64
import json

MARK = '<script id="data" type="application/octet-stream">'


def split(path):
    """What stands before the data, the data in base64, and what stands behind them."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    before, rest = text.split(MARK, 1)
    data, after = rest.split("</script>", 1)
    return before + MARK, data, "</script>" + after


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def n(self):
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def s(self):
        value = self.n()
        return -(value + 1) // 2 if value & 1 else value // 2

    def k(self):
        value = self.n()
        return value - 1 if value else None

    def t(self):
        size = self.n()
        self.at += size
        return self.data[self.at - size:self.at].decode("utf-8")

    def many(self, one):
        return [one() for _ in range(self.n())]


def course(r):
    out = {"bounds": [r.s()], "columns": []}
    for _ in range(r.n()):
        out["bounds"].append(out["bounds"][-1] + r.n())
        keys = ("first", "min", "max", "reserved", "step", "kind", "flags")
        out["columns"].append(dict(zip(keys, (r.n(), r.n(), r.n(), r.k(), r.k(), r.n(), r.n()))))
    out.update(driven=r.n(), peak_seq=r.k(), peak=r.n(), peak_ns=r.n())
    return out


def moments(r):
    out = {"exact": bool(r.n()), "folded": r.n()}
    out["modules"] = r.many(lambda: (r.t(), r.t(), r.k()))
    out["classes"] = r.many(lambda: dict(purpose=r.n(), born=r.n(), site=r.n(), module=r.n()))
    out["blocks"], seq, ns = [], 0, 0
    for _ in range(r.n()):
        seq += r.n()
        block = {"seq": seq, "size": r.n(), "requested": r.k()}
        ns += r.s()
        freed, life = r.k(), r.k()
        block.update(ns=ns, free_seq=None if freed is None else seq + freed, life=life)
        block.update({"class": r.n(), "site": r.n()})
        out["blocks"].append(block)
    out["moments"], seq, ns = [], 0, 0
    for _ in range(r.n()):
        seq, ns = seq + r.n(), ns + r.n()
        changes, place = [], 0
        for _ in range(r.n()):
            place += r.n()
            changes.append((place, r.s(), r.s()))
        out["moments"].append((seq, ns, changes))
    out["top"] = r.n()
    return out


def scope(r):
    out = {"process": r.n(), "pid": r.n(), "rank": r.k(), "device": r.t(), "drawn": r.n()}
    if not out["drawn"]:
        return out
    out["course"], out["moments"] = course(r), moments(r)
    out["left_out"] = r.n()
    keys = ("begin", "span", "begin_seq", "end_seq", "kind", "name", "step", "depth", "peak", "peak_seq",
            "peak_ns", "allocated")
    out["phases"] = r.many(lambda: dict(zip(keys, (r.s(), r.k(), r.n(), r.k(), r.n(), r.n(), r.k(), r.n(),
                                                   r.k(), r.k(), r.k(), r.k()))))
    out["each"] = r.n()
    keys = ("step", "begin", "end", "peak", "allocated", "reserved")
    out["steps"] = r.many(lambda: dict(zip(keys, (r.n(), r.s(), r.k(), r.k(), r.k(), r.k()))))
    out["refusals"] = r.many(lambda: dict(seq=r.n(), ns=r.s(), asked=r.n(), site=r.n()))
    out["map"] = {"known": r.n(), "seq": r.s(), "left_out": r.n()}
    out["map"]["segments"] = r.many(lambda: dict(
        address=r.t(), size=r.n(), heap=r.n(), free=r.n(), mapped=r.n(),
        blocks=r.many(lambda: (r.n(), r.n(), r.n(), r.n()))))
    return out


def recording(r):
    out = {"name": r.t(), "reports": json.loads(r.t())}
    out["scopes"] = r.many(lambda: scope(r))
    out["texts"] = r.many(r.t)
    out["frames"] = r.many(lambda: (r.n(), r.n(), r.n()))
    out["sites"] = r.many(lambda: (r.n(), r.many(r.n)))
    return out


def read(data):
    r = Reader(data)
    assert data[:4] == b"TMPG"
    r.at = 4
    assert r.n() == 1, "another version"
    out = {"purposes": r.many(r.t), "kinds": r.many(r.t)}
    out["recordings"] = r.many(lambda: recording(r))
    assert r.at == len(data), "the data do not end where they should"
    return out


def load(path):
    return read(base64.b64decode(split(path)[1], validate=True))


def living(moments_, seq):
    """What each class holds after the event, (bytes, blocks): of a picture that is exact from its
    blocks, of another from the changes up to that moment."""
    held = {}

    def add(place, size, blocks):
        old = held.get(place, (0, 0))
        held[place] = (old[0] + size, old[1] + blocks)

    if moments_["exact"]:
        for block in moments_["blocks"]:
            if block["seq"] <= seq and (block["free_seq"] is None or block["free_seq"] > seq):
                add(block["class"], block["size"], 1)
    for at, _, changes in moments_["moments"]:
        for place, size, blocks in changes if at <= seq else ():
            add(place, size, blocks)
    return held
