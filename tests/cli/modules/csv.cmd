tidemark modules gpt.db --format csv
