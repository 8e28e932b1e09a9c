# The schema as printed makes a database that the same schema would make.
tidemark sql --schema | grep -c 'CREATE VIEW phase_table'
tidemark sql --schema | grep -c '^-- Facts'
tidemark sql --schema --format=csv | cksum >a; tidemark sql --schema | cksum | cmp a - && echo same
