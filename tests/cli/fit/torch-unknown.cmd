tidemark fit versions.db --torch 2.9,2.3
