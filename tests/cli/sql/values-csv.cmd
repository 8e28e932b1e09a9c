tidemark sql train.db -f csv "SELECT 1 AS a, -2.5 AS b, NULL AS c, x'00ff' AS d, 'two
lines' AS e, '' AS f, 'a,b' AS g, '\"q\"' AS h, 'a' AS a, '# no' AS i, ' x' AS j"
