tidemark peak many-driven.db --all | sed -n '/^Peak of/p; /highest/p' | sed -n '1p; $p'; tidemark peak many-driven.db --all --process 2 | head -3
