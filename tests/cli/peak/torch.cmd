tidemark peak torch.db --all
