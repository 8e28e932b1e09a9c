# No other file is made or read, nothing is set; what only tells something is answered.
ls *.db* >before
for q in "ATTACH 'other.db' AS o" "ATTACH 'train.db' AS o" "DETACH main" "VACUUM" \
    "VACUUM INTO 'copy.db'" "PRAGMA query_only=OFF" "PRAGMA query_only(0)" \
    "PRAGMA journal_mode=DELETE" "PRAGMA main.user_version=9" "PRAGMA wal_checkpoint" \
    "PRAGMA writable_schema=ON" "PRAGMA optimize" "SELECT * FROM pragma_wal_checkpoint" \
    "CREATE TEMP TABLE t(a)" "SELECT load_extension('x')" "BEGIN IMMEDIATE"; do
    echo "$q: $(tidemark sql torch.db "$q" 2>&1 | head -1)"
    tidemark sql torch.db "$q" >/dev/null 2>&1
    echo $?
done
ls *.db* | cmp - before && echo the same files
tidemark sql torch.db "PRAGMA query_only; PRAGMA main.journal_mode; PRAGMA table_info(mark);
    SELECT name FROM pragma_table_info('oom') LIMIT 1; PRAGMA integrity_check" -f csv
