"""Pickles as PyTorch's C++ code writes them: protocol 2, one batch for each container, integers of
eight bytes, and a container gets its memo number when it is filled."""
import struct


def dumps(value):
    out, memo, kept = bytearray(b"\x80\x02"), {}, []

    def put():
        n = len(memo)
        out.extend(b"q" + bytes([n]) if n < 256 else b"r" + struct.pack("<I", n))
        return n

    def get(n):
        out.extend(b"h" + bytes([n]) if n < 256 else b"j" + struct.pack("<I", n))

    def integer(v):
        if 0 <= v < 256:
            out.extend(b"K" + bytes([v]))
        elif 0 <= v < 65536:
            out.extend(b"M" + struct.pack("<H", v))
        elif -2**31 <= v < 2**31:
            out.extend(b"J" + struct.pack("<i", v))
        else:
            out.extend(b"\x8a\x08" + struct.pack("<q", v))

    def save(v):
        key = ("s", v) if isinstance(v, str) else id(v)
        if isinstance(v, (str, dict, list)) and key in memo:
            return get(memo[key])
        if v is None:
            out.extend(b"N")
        elif v is True or v is False:
            out.extend(b"\x88" if v else b"\x89")
        elif isinstance(v, int):
            integer(v)
        elif isinstance(v, float):
            out.extend(b"G" + struct.pack(">d", v))
        elif isinstance(v, str):
            raw = v.encode()
            out.extend(b"X" + struct.pack("<I", len(raw)) + raw)
            memo[key] = put()
        elif isinstance(v, tuple):
            for item in v:
                save(item)
            out.extend({1: b"\x85", 2: b"\x86", 3: b"\x87"}[len(v)])
        elif isinstance(v, list):
            out.extend(b"](")
            for item in v:
                save(item)
            out.extend(b"e")
            kept.append(v)
            memo[key] = put()
        else:
            out.extend(b"}(")
            for k, item in v.items():
                save(k)
                save(item)
            out.extend(b"u")
            kept.append(v)
            memo[key] = put()

    save(value)
    out.extend(b".")
    return bytes(out)
