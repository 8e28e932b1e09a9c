tidemark help glossary | head -12
