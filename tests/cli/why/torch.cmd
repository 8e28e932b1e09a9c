tidemark why torch.db
