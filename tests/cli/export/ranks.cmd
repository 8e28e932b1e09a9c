tidemark export --to memory_viz ranks.db -o a.pickle; tidemark export --to memory_viz ranks.db --rank 1 -o b.pickle; python3 -c "
import pickle
for name in \"ab\":
    for device, trace in enumerate(pickle.load(open(name + \".pickle\", \"rb\"))[\"device_traces\"]):
        print(name, device, [event[\"action\"] for event in trace])"
