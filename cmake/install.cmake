# What `cmake --install` installs, in the components engine, lab and program: headers, libraries, a
# CMake package (tamis::tamis, and tamis::lab as its component lab) and a pkg-config file for each
# library. All files find each other by relative paths, so that the prefix may be moved.
set(tamis_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/tamis")

# Folders that are given relative to the prefix are found from the location of the .pc file. Other
# folders are written as they are.
cmake_path(IS_ABSOLUTE CMAKE_INSTALL_LIBDIR tamis_libdir_is_absolute)
if(tamis_libdir_is_absolute)
  set(tamis_pc_prefix "${CMAKE_INSTALL_PREFIX}")
else()
  file(RELATIVE_PATH tamis_pc_to_prefix "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/p")
  set(tamis_pc_prefix "\${pcfiledir}/${tamis_pc_to_prefix}")
endif()
foreach(kind LIB INCLUDE)
  set(tamis_pc_${kind}DIR "\${prefix}")
  cmake_path(APPEND tamis_pc_${kind}DIR "${CMAKE_INSTALL_${kind}DIR}")  # replaces if absolute
endforeach()

# install_library(TARGET COMPONENT PACKAGE DESCRIPTION [PUBLIC pc…] [PRIVATE pc…]) installs TARGET,
# its exported target and PACKAGE.pc, which requires the pkg-config packages PUBLIC and, if TARGET
# is static, PRIVATE.
function(install_library target component package description)
  cmake_parse_arguments(PARSE_ARGV 4 pc "" "" "PUBLIC;PRIVATE")
  install(TARGETS ${target} EXPORT tamis-${component}
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${component}
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT ${component})
  install(EXPORT tamis-${component} NAMESPACE tamis:: DESTINATION "${tamis_cmake_dir}"
    COMPONENT ${component})
  set(tamis_pc_name ${package})
  set(tamis_pc_description "${description}")
  list(JOIN pc_PUBLIC " " tamis_pc_requires)
  set(tamis_pc_requires_private "")
  set(tamis_pc_libs_private "")
  set(tamis_pc_cflags "")
  if(NOT BUILD_SHARED_LIBS)
    list(JOIN pc_PRIVATE " " tamis_pc_requires_private)
    set(tamis_pc_libs_private "-lstdc++ -lm ${CMAKE_THREAD_LIBS_INIT}")
    set(tamis_pc_cflags "-DTAMIS_STATIC")
  endif()
  configure_file("${PROJECT_SOURCE_DIR}/cmake/tamis.pc.in" "${PROJECT_BINARY_DIR}/${package}.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/${package}.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
    COMPONENT ${component})
endfunction()

install_library(tamis engine tamis "${PROJECT_DESCRIPTION}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tamis" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT engine FILES_MATCHING PATTERN "*.h" PATTERN "lab" EXCLUDE)
if(TAMIS_LAB)
  install_library(tamis_lab lab tamis-lab "What studies attention: patterns, witnesses, profiles, sweeps"
    PUBLIC tamis PRIVATE fmt gmpxx mpfr sqlite3)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/tamis/lab"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/tamis" COMPONENT lab FILES_MATCHING PATTERN "*.h")
endif()

# Only static libraries leave their dependencies to the projects that link them.
set(tamis_find_engine "")
set(tamis_find_lab "")
if(NOT BUILD_SHARED_LIBS)
  set(tamis_find_engine "find_dependency(Threads)")
  set(tamis_find_lab fmt GMP MPFR SQLite3)
  list(TRANSFORM tamis_find_lab REPLACE "(.+)" "find_dependency(\\1)")
  list(JOIN tamis_find_lab "\n  " tamis_find_lab)
  install(FILES "${PROJECT_SOURCE_DIR}/cmake/FindGMP.cmake" "${PROJECT_SOURCE_DIR}/cmake/FindMPFR.cmake"
    DESTINATION "${tamis_cmake_dir}" COMPONENT lab)
endif()
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/tamisConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/tamisConfig.cmake" INSTALL_DESTINATION "${tamis_cmake_dir}"
  NO_SET_AND_CHECK_MACRO)
# Until 1.0 every minor version may change the C++ API.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/tamisConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/tamisConfig.cmake" "${PROJECT_BINARY_DIR}/tamisConfigVersion.cmake"
  DESTINATION "${tamis_cmake_dir}" COMPONENT engine)
