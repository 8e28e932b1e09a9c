tidemark fit versions.db --torch all | sed -n '/^Under/,$p'
