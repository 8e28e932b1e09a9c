# words.awk - names each line that has a word of the file WORDS. With C=1 only texts in quotes count,
# and those of SQL do not.
BEGIN {
    while ((getline line < WORDS) > 0) {
        if (line ~ /^#/ || line == "")
            continue
        split(line, part, "\t")
        pattern[++patterns] = part[1]
        instead[patterns] = part[2]
    }
}

# The texts in quotes of a line of C, one space between them; comments and SQL are left out.
function texts(line,    out, i, c, inside)
{
    out = ""
    inside = 0
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        if (comment) {
            if (substr(line, i, 2) == "*/") {
                comment = 0
                i++
            }
        } else if (inside) {
            if (c == "\\")
                i++
            else if (c == "\"")
                inside = 0
            else
                out = out c
        } else if (c == "\"") {
            inside = 1
            out = out " "
        } else if (substr(line, i, 2) == "/*") {
            comment = 1
            i++
        } else if (substr(line, i, 2) == "//") {
            break
        }
    }
    return out
}

FNR == 1 { comment = 0 }

C && /^#include/ { next }

{
    text = C ? texts($0) : $0
    if (C && text ~ /SELECT|FROM|JOIN|WHERE| AS /)
        next
    text = tolower(text)
    for (p = 1; p <= patterns; p++)
        if (text ~ pattern[p])
            print FILENAME ":" FNR ": say '" instead[p] "': " substr(text, 1, 100)
}
