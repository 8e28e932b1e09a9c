# The settings of CPack for the Debian package of a staged tree, whose root is DEB_ROOT; package.sh sets
# what it names in the environment.
set(CPACK_GENERATOR DEB)
set(CPACK_INSTALLED_DIRECTORIES "$ENV{DEB_ROOT};/")
set(CPACK_PACKAGING_INSTALL_PREFIX "/")
set(CPACK_SET_DESTDIR OFF)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_CMAKE_GENERATOR "Unix Makefiles")
set(CPACK_TOPLEVEL_TAG deb)

set(CPACK_PACKAGE_NAME tidemark)
set(CPACK_PACKAGE_VERSION "$ENV{DEB_VERSION}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "memory profiler and timeline recorder for deep-learning training")
# CPack asks for one; the next is the one that is used.
set(CPACK_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION_SUMMARY}")
set(CPACK_PACKAGE_CONTACT "$ENV{DEB_MAINTAINER}")
set(CPACK_DEBIAN_PACKAGE_NAME tidemark)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_PACKAGE_FILE_NAME "tidemark_$ENV{DEB_VERSION}-1_$ENV{DEB_ARCHITECTURE}")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE "$ENV{DEB_ARCHITECTURE}")
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "libc6 (>= $ENV{DEB_GLIBC})")
# What it records: without an interpreter there are C programs, and the reports.
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3, python3-torch")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Tidemark says where the GPU memory of a PyTorch training goes: the peak, the
tensors that hold it by module and line, what to change, and how many MiB
each change saves. The program stays as it is; its command goes behind
'tidemark record --'.

Without a GPU, 'tidemark rehearse' runs the same program and says what it
takes on the GPU that is named. C and C++ programs report through a header,
and may take memory from an allocator library with PyTorch's policy.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_LIST_DIR}/triggers")
