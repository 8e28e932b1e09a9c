COLUMNS=80 LINES=24 tidemark timeline torch.db --plot
