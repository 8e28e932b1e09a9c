tidemark --version | sed 's/[0-9][0-9.]*/N/; s/^no CUDA.*/CUDA/; s/^CUDA at.*/CUDA/'
tidemark -V | wc -l
