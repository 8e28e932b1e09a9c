# Where nothing stands out the heading does not stand alone.
tidemark peak gpu.db --findings
tidemark peak pools.db --findings --process 1
