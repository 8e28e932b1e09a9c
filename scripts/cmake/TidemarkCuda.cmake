# What is there of CUDA; sets TIDEMARK_HAVE_CUDA. Filled in with the CUDA samples.
set(TIDEMARK_HAVE_CUDA OFF)
