# Headers, library, program, tuned tables, prompts, notes, pkg-config file.
include(GNUInstallDirs)
install(TARGETS gemmsmith gemmsmith_program)
install(TARGETS gemmsmith_emu LIBRARY NAMELINK_SKIP)   # opened beside the library when an emulated device is asked for
install(DIRECTORY include/gemmsmith TYPE INCLUDE)
install(DIRECTORY tuned DESTINATION ${CMAKE_INSTALL_DATADIR}/gemmsmith)
install(DIRECTORY share/prompts share/notes DESTINATION ${CMAKE_INSTALL_DATADIR}/gemmsmith)
install(DIRECTORY python/gemmsmith DESTINATION ${CMAKE_INSTALL_DATADIR}/gemmsmith/python PATTERN __pycache__ EXCLUDE)
configure_file(cmake/gemmsmith.pc.in gemmsmith.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/gemmsmith.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
