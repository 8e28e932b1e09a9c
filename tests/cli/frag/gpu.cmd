tidemark frag gpu.db peak
