tidemark sql train.db "SELECT id, kind, name, step FROM phase LIMIT 4"
