# Headers, library, program, man pages, tuned tables, prompts, notes, pkg-config file.
include(GNUInstallDirs)
install(TARGETS gemmsmith gemmsmith_program)
install(TARGETS gemmsmith_emu LIBRARY NAMELINK_SKIP)   # opened beside the library when an emulated device is asked for
install(DIRECTORY include/gemmsmith TYPE INCLUDE)
install(DIRECTORY tuned DESTINATION ${CMAKE_INSTALL_DATADIR}/gemmsmith)
install(DIRECTORY share/prompts share/notes DESTINATION ${CMAKE_INSTALL_DATADIR}/gemmsmith)
install(FILES python/gemmsmith_taskset.py DESTINATION ${CMAKE_INSTALL_DATADIR}/gemmsmith/python)
install(DIRECTORY python/gemmsmith DESTINATION ${CMAKE_INSTALL_DATADIR}/gemmsmith/python PATTERN __pycache__ EXCLUDE)
configure_file(cmake/gemmsmith.pc.in gemmsmith.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/gemmsmith.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

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
  install(DIRECTORY ${CMAKE_BINARY_DIR}/man/man1 ${CMAKE_BINARY_DIR}/man/man3 DESTINATION ${CMAKE_INSTALL_MANDIR})
  install(FILES ${CMAKE_BINARY_DIR}/completion/gemmsmith DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${CMAKE_BINARY_DIR}/completion/_gemmsmith DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
  install(FILES ${CMAKE_BINARY_DIR}/completion/gemmsmith.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
endif()
