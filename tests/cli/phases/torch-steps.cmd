tidemark phases torch.db --steps 0
