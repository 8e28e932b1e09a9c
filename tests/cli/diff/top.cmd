tidemark diff train.db torch.db --top 2
