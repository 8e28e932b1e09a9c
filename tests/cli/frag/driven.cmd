tidemark frag plain.db; tidemark leaks plain.db; tidemark fit plain.db; tidemark diff plain.db plain.db; tidemark check plain.db --max-peak 1GiB
