tidemark frag plain.db; tidemark leaks plain.db; tidemark fit plain.db; tidemark diff plain.db plain.db
