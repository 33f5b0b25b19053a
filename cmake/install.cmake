# What `cmake --install` puts in place: headers, library, a CMake package (tamis::tamis) and a pkg-config
# file. All of it finds its neighbours relative to itself, so that the prefix may be moved.
set(tamis_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tamis")

install(TARGETS tamis EXPORT tamisTargets
  LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
  ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tamis" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  FILES_MATCHING PATTERN "*.h")
install(EXPORT tamisTargets NAMESPACE tamis:: DESTINATION "${tamis_cmake_dir}")

# Only a static libtamis leaves its dependencies to those who link it.
set(tamis_find_dependencies "")
set(tamis_pc_requires "")
set(tamis_pc_libs "")
set(tamis_pc_cflags "")
if(NOT BUILD_SHARED_LIBS)
  set(tamis_packages Threads fmt GMP MPFR SQLite3)
  set(tamis_pc_requires "fmt gmpxx mpfr sqlite3")
  set(tamis_pc_libs "-lstdc++ -lm ${CMAKE_THREAD_LIBS_INIT}")
  set(tamis_pc_cflags "-DTAMIS_STATIC")
  list(TRANSFORM tamis_packages REPLACE "(.+)" "find_dependency(\\1)")
  list(JOIN tamis_packages "\n" tamis_find_dependencies)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/FindGMP.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindMPFR.cmake"
    DESTINATION "${tamis_cmake_dir}")
endif()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/tamisConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/tamisConfig.cmake" INSTALL_DESTINATION "${tamis_cmake_dir}"
  NO_SET_AND_CHECK_MACRO)
# Until 1.0 every minor version may change the C++ API.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tamisConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tamisConfig.cmake" "${PROJECT_BINARY_DIR}/tamisConfigVersion.cmake"
  DESTINATION "${tamis_cmake_dir}")

# Folders given relative to the prefix are found from where the .pc file is; others are named as they are.
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR tamis_libdir_is_absolute)
if(tamis_libdir_is_absolute)
  set(tamis_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH tamis_pc_to_prefix "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
  set(tamis_pc_prefix "\${pcfiledir}/${tamis_pc_to_prefix}")
endif()
foreach(kind LIB INCLUDE)
  set(tamis_pc_${kind}DIR "\${prefix}")
  cmake_path(APPEND tamis_pc_${kind}DIR "${CMAKE_INSTALL_${kind}DIR}")  # replaces if it is absolute
endforeach()
configure_file("${PROJECT_SOURCE_DIR}/cmake/tamis.pc.in" "${PROJECT_BINARY_DIR}/tamis.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/tamis.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
