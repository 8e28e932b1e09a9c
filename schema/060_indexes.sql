-- By the process that rows are of, where there may be thousands of them. What has an event's number
-- as its key is found by the process's first and last event: table allocation has no index.
CREATE INDEX phase_of_process ON phase(process);
CREATE INDEX heap_of_process ON heap(process);
CREATE INDEX segment_of_heap ON segment(heap);
CREATE INDEX mapping_of_heap ON mapping(heap);
CREATE INDEX driver_memory_of_process ON driver_memory(process);
CREATE INDEX sample_of_process ON sample(process);
CREATE INDEX setting_of_process ON setting(process);
CREATE INDEX module_of_path ON module(path);
CREATE INDEX thinned_of_process ON thinned(process);
