for value in 5 x -1% 5%% inf%; do tidemark check train.db --baseline train.db --max-increase $value; done; tidemark check train.db --max-fragmentation 200
