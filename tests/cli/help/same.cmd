for word in help -h; do tidemark $word | cmp - "$PWD/overview" || true; done 2>/dev/null
tidemark --help >overview
for word in help -h; do tidemark $word | cmp - overview && echo same; done
