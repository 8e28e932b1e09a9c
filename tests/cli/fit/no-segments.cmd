tidemark fit torch.db
