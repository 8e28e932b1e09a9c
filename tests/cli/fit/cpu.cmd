# A CPU's record cannot know what a GPU takes beside the allocator.
tidemark fit pressed.db --device cpu --memory 24GiB
echo $?
tidemark fit pressed.db --device cpu --memory 24GiB --reserve 1GiB
echo $?
tidemark fit pressed.db --device cpu --memory 1030MiB --reserve 1029MiB | grep verdict
