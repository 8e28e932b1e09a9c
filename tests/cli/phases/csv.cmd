tidemark phases train.db --format csv
