tidemark sql train.db -f json "SELECT 1 AS a, -2.5 AS b, NULL AS c, x'00ff' AS d, 'two
lines' AS e, '' AS f, 1e300 * 1e300 AS g, char(7, 27, 34, 92, 127) AS h, CAST(x'61ff62' AS TEXT) AS i,
'a' AS a, 0.1 AS j"
