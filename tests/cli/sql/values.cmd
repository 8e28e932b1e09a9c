tidemark sql train.db "SELECT 1 AS a, -2.5 AS b, NULL AS c, x'00ff' AS d, 'two
lines' AS e, '' AS f, 1e300 * 1e300 AS g, 9223372036854775807 AS h, 'a' AS a, 3.0"
