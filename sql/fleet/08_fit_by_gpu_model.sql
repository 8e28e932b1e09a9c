-- How full were the GPUs of each model? What reserved beyond allocated is the allocator's to give back.
WITH reserved_most AS (
    SELECT run, rank, process, device, max(reserved) AS most
      FROM phase_table
     GROUP BY run, rank, process, device
)
SELECT d.gpu, d.total_bytes, count(*) AS devices, max(k.allocated) AS most_allocated,
       max(r.most) AS most_reserved, max(d.used_bytes) AS most_used,
       floor(10000.0 * max(k.allocated) / d.total_bytes) / 100 AS percent_allocated
  FROM device d
  JOIN peak k ON k.run = d.run AND k.rank = d.rank AND k.process = d.process
             AND k.device = d.device
  LEFT JOIN reserved_most r ON r.run = d.run AND r.rank = d.rank AND r.process = d.process
                           AND r.device = d.device
 WHERE d.total_bytes IS NOT NULL AND d.device <> 'cpu'
 GROUP BY d.gpu, d.total_bytes
 ORDER BY d.gpu, d.total_bytes
