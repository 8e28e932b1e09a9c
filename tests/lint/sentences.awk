# sentences.awk - literals of two words or more among the arguments of strstr, strcmp and their like:
# "file:line: literal", of each file that is named.

BEGIN {
    calls = "(^|[^A-Za-z0-9_])(strstr|strcasestr|strcmp|strncmp|strcasecmp|strncasecmp|memcmp|memmem)[ ]*[(]"
}

# The arguments that text begins with, up to the bracket that closes them.
function arguments(    at, depth, c, literal, quoted)
{
    depth = 1
    for (at = 1; at <= length(text) && depth > 0; at++) {
        c = substr(text, at, 1)
        if (quoted && c == "\\") literal = literal c substr(text, ++at, 1)
        else if (quoted && c != "\"") literal = literal c
        else if (c == "\"") {
            if (quoted && literal ~ /[A-Za-z] [A-Za-z]/) printf "%s:%d: %s\n", name, line, literal
            quoted = !quoted
            literal = ""
        } else if (c == "(") depth++
        else if (c == ")") depth--
    }
}

function look(    before)
{
    line = 1
    while (match(text, calls)) {
        before = substr(text, 1, RSTART + RLENGTH - 1)
        text = substr(text, RSTART + RLENGTH)
        line += gsub(/\n/, "", before)
        arguments()
    }
}

FNR == 1 {
    look()
    name = FILENAME
    text = ""
}
{ text = text (/^[ \t]*(\/\*|\*|\/\/)/ ? "" : $0) "\n" }
END { look() }
