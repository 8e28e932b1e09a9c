# Without torch.no_grad() an evaluation keeps what no backward takes.
tidemark peak evaluation.db
