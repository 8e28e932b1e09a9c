# find_package(Tidemark CONFIG): Tidemark::tidemark is the header tidemark.h, with nothing to link;
# Tidemark::alloc is the caching allocator, libtidemark_alloc.so, and the header.
include("${CMAKE_CURRENT_LIST_DIR}/TidemarkTargets.cmake")
