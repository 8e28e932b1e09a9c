# Step 0 ended before anything was lost; step 1 did not; step 9 is not there.
for steps in 0 ..0 0..1 1 9; do tidemark phases torch.db --steps $steps | grep -c approximate; done
tidemark peak torch.db --steps 0 | grep -c approximate
tidemark phases torch.db | grep -c approximate
