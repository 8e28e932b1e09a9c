tidemark timeline train.db --plot --steps 9..
