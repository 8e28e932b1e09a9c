tidemark export --to csv torch.db -o -; tidemark export --to csv torch.db --at peak -o - | wc -l
