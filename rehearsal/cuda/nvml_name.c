/* nvml_name.c - a library with NVML's name. What it has to say is in the one that it needs. */
__attribute__((visibility("hidden"))) extern const char tidemark_nvml_name[];
const char tidemark_nvml_name[] = "tidemark: see libs/nvml.c";
