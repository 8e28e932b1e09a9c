# A CPU's recording does not have what a GPU takes beside the allocator. What does not fit without
# that does not fit; otherwise the verdict says how much is left for it.
tidemark fit pressed.db --device cpu --memory 24GiB
echo $?
tidemark fit pressed.db --device cpu --memory 24GiB --reserve 1GiB
echo $?
tidemark fit pressed.db --device cpu --memory 1030MiB --reserve 1029MiB | grep verdict
tidemark fit pressed.db --device cpu --memory 1MiB | grep -e memory -e aside -e verdict -e refused
tidemark fit pressed.db --device cpu --memory 1MiB >/dev/null
echo $?
tidemark fit pressed.db --device cpu --memory 2MiB | grep verdict
tidemark fit pressed.db --device cpu --memory 24GiB --format json | grep -o -e '"verdict[^,]*' -e '"fits_below.*[0-9l]'
tidemark fit pressed.db --device cpu --memory 1MiB --format json | grep -o -e '"verdict[^,]*' -e '"fits_below.*[0-9l]'
