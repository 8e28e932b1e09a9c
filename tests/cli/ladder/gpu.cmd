tidemark ladder gpu.db; tidemark ladder gpu.db end; tidemark ladder gpu.db @4ms
