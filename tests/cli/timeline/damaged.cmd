head -c 3000 train.db >short.db; tidemark timeline short.db --plot
