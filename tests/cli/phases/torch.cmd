tidemark phases torch.db
