tidemark peak torch.db
