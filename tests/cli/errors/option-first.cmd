tidemark --format csv peak
