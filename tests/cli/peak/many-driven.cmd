tidemark peak many-driven.db | sed -n '/^Peak of/p; /highest/p' | sed -n '1p; $p'; tidemark peak many-driven.db --process 2 | head -3
