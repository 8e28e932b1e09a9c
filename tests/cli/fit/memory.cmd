# 38 MiB are enough, 36 are not; the exit status says so.
for size in 38MiB 36MiB 37.9m; do
    tidemark fit pressed.db --memory $size >out
    echo "$? $(grep verdict out)"
done
