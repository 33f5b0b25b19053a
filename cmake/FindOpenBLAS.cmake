# Finds OpenBLAS with LAPACKE and defines the target OpenBLAS::OpenBLAS. Only tests and benchmarks
# need it.
find_path(OpenBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas)
find_path(LAPACKE_INCLUDE_DIR lapacke.h PATH_SUFFIXES openblas)
find_library(OpenBLAS_LIBRARY openblas)
find_library(LAPACKE_LIBRARY NAMES lapacke openblas)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(OpenBLAS REQUIRED_VARS OpenBLAS_LIBRARY LAPACKE_LIBRARY
                                  OpenBLAS_INCLUDE_DIR LAPACKE_INCLUDE_DIR)
if(OpenBLAS_FOUND AND NOT TARGET OpenBLAS::OpenBLAS)
  add_library(OpenBLAS::OpenBLAS INTERFACE IMPORTED)
  target_include_directories(OpenBLAS::OpenBLAS SYSTEM INTERFACE "${OpenBLAS_INCLUDE_DIR}"
                                                                "${LAPACKE_INCLUDE_DIR}")
  # OpenBLAS comes first, so that LAPACKE calls its LAPACK.
  target_link_libraries(OpenBLAS::OpenBLAS INTERFACE "${OpenBLAS_LIBRARY}" "${LAPACKE_LIBRARY}")
endif()
mark_as_advanced(OpenBLAS_INCLUDE_DIR LAPACKE_INCLUDE_DIR OpenBLAS_LIBRARY LAPACKE_LIBRARY)
