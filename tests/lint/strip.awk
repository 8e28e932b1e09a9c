# strip.awk - C text without comments, and with empty strings and character constants: "x" becomes
# "". Lines stay lines. Defines strip(), for other awk programs; call it on every line in order.

# in_comment: between /* and */ across lines. Reset it at the start of a file.
function strip(line,    out, at, mark, rest)
{
    out = ""
    while (line != "") {
        if (in_comment) {
            at = index(line, "*/")
            if (!at) return out
            line = substr(line, at + 2)
            in_comment = 0
            continue
        }
        if (!match(line, /\/\*|\/\/|["']/)) return out line
        mark = substr(line, RSTART, 1)
        rest = substr(line, RSTART)
        out = out substr(line, 1, RSTART - 1)
        if (mark == "/") {
            if (substr(rest, 2, 1) == "/") return out
            in_comment = 1
            line = substr(rest, 3)
        } else {
            if (mark == "\"") match(rest, /^"([^"\\]|\\.)*"?/)
            else match(rest, /^'([^'\\]|\\.)*'?/)
            out = out mark mark
            line = substr(rest, RLENGTH + 1)
        }
    }
    return out
}
