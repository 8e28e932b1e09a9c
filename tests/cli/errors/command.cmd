tidemark paek
