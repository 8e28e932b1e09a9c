tidemark fit versions.db --torch 2.6,2.10,2.14
