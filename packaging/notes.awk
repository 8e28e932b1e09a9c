# notes.awk: the newest section of NEWS as the notes of a release, in Markdown. Wants the variable
# version. A section is a line with a line of dashes below; its items begin with "- ".
FNR == 1 { next }
/^-+$/ {
    if (++sections == 2) exit
    print "# Tidemark " version
    if (title ~ /[Nn]ot released/) print "\nNot released: built from a checkout."
    print ""
    title = ""
    next
}
{
    if (title != "" && sections == 1) print title
    title = $0
}
END {
    if (!sections) {
        print "notes.awk: NEWS has no section" > "/dev/stderr"
        exit 1
    }
    if (sections == 1 && title != "") print title
}
