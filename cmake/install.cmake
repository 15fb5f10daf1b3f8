# What is installed, in five components, a Debian package each (scripts/make_deb.sh): runtime, development, tools, python, tuned.
include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gemmsmith)
set(data_dir ${CMAKE_INSTALL_DATADIR}/gemmsmith)
set(GS_ZSH_DIR ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "where completions of zsh are installed; Debian's packages use share/zsh/vendor-completions")

install(TARGETS gemmsmith EXPORT gemmsmith LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)
install(TARGETS gemmsmith_emu LIBRARY COMPONENT runtime NAMELINK_SKIP)   # opened beside the library when an emulated device is asked for
install(TARGETS gemmsmith_blas gemmsmith_blas_audit LIBRARY COMPONENT runtime)   # named in LD_PRELOAD and LD_AUDIT, never linked to
install(TARGETS gemmsmith_torch LIBRARY COMPONENT runtime)   # opened by python/gemmsmith/torch.py
install(DIRECTORY include/gemmsmith TYPE INCLUDE COMPONENT development)
if(TARGET gemmsmith_static)
  install(FILES ${CMAKE_BINARY_DIR}/static/libgemmsmith.a TYPE LIB COMPONENT development)
endif()
install(TARGETS gemmsmith_program RUNTIME COMPONENT tools)
install(DIRECTORY share/prompts share/notes DESTINATION ${data_dir} COMPONENT tools)
install(FILES python/gemmsmith_taskset.py DESTINATION ${data_dir}/python COMPONENT python)
install(DIRECTORY python/gemmsmith DESTINATION ${data_dir}/python COMPONENT python PATTERN __pycache__ EXCLUDE)
install(DIRECTORY tuned DESTINATION ${data_dir} COMPONENT tuned)

# for those who build with it: find_package(gemmsmith), pkg-config. Neither names the prefix, so both go with a prefix that is moved.
install(EXPORT gemmsmith NAMESPACE gemmsmith:: FILE gemmsmith-targets.cmake DESTINATION ${config_dir} COMPONENT development)
file(RELATIVE_PATH GS_PREFIX_FROM_PC ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" GS_PREFIX_FROM_PC "${GS_PREFIX_FROM_PC}")
configure_file(cmake/gemmsmith.pc.in gemmsmith.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/gemmsmith.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
configure_package_config_file(cmake/gemmsmith-config.cmake.in gemmsmith-config.cmake INSTALL_DESTINATION ${config_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(gemmsmith-config-version.cmake VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/gemmsmith-config.cmake ${CMAKE_BINARY_DIR}/gemmsmith-config-version.cmake DESTINATION ${config_dir} COMPONENT development)

# man pages and completions of shells, of what the headers and the program itself say
find_program(GS_PYTHON python3)
if(GS_PYTHON)
  file(GLOB GS_PUBLIC_HEADERS CONFIGURE_DEPENDS include/gemmsmith/*.h)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man/made
                     COMMAND ${GS_PYTHON} ${CMAKE_SOURCE_DIR}/scripts/make_man.py ${CMAKE_SOURCE_DIR}/include/gemmsmith ${CMAKE_BINARY_DIR}/man $<TARGET_FILE:gemmsmith_program>
                     COMMAND ${GS_PYTHON} ${CMAKE_SOURCE_DIR}/scripts/make_completion.py $<TARGET_FILE:gemmsmith_program> ${CMAKE_BINARY_DIR}/completion
                     COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/man/made
                     DEPENDS ${CMAKE_SOURCE_DIR}/scripts/make_man.py ${CMAKE_SOURCE_DIR}/scripts/make_completion.py ${GS_PUBLIC_HEADERS} gemmsmith_program VERBATIM)
  add_custom_target(gemmsmith_man ALL DEPENDS ${CMAKE_BINARY_DIR}/man/made)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT tools)
  install(DIRECTORY ${CMAKE_BINARY_DIR}/man/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT development)
  install(FILES ${CMAKE_BINARY_DIR}/completion/gemmsmith DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools)
  install(FILES ${CMAKE_BINARY_DIR}/completion/_gemmsmith DESTINATION ${GS_ZSH_DIR} COMPONENT tools)
  install(FILES ${CMAKE_BINARY_DIR}/completion/gemmsmith.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tools)
endif()
