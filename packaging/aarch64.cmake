# For package.sh --arch aarch64, on Debian: gcc-aarch64-linux-gnu, libc6-dev-arm64-cross, qemu-user for
# the one program that the build runs, and SQLite for ARM, unpacked into TIDEMARK_SYSROOT:
#
#   dpkg --add-architecture arm64 && apt-get update
#   apt-get download libsqlite3-dev:arm64 && dpkg -x libsqlite3-dev_*_arm64.deb "$TIDEMARK_SYSROOT"
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_STRIP aarch64-linux-gnu-strip)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH "$ENV{TIDEMARK_SYSROOT}" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
