tidemark info unheard.db | sed -n '/^Gaps/,/^$/p'
