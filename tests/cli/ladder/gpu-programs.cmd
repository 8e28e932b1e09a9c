tidemark ladder gpu.db --format csv; tidemark ladder gpu.db end --format json
