# Turns every file of kernels/ into a string of one generated C file, so that the library carries its kernels.
file(GLOB_RECURSE GS_KERNEL_FILES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/kernels/*.cu ${CMAKE_SOURCE_DIR}/kernels/*.cuh ${CMAKE_SOURCE_DIR}/kernels/*.h)
list(SORT GS_KERNEL_FILES)
set(GS_EMBEDDED ${CMAKE_BINARY_DIR}/embedded.c)
add_executable(gs_embed ${CMAKE_SOURCE_DIR}/tools/embed.c)
set_target_properties(gs_embed PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tools)
add_custom_command(OUTPUT ${GS_EMBEDDED}
                   COMMAND gs_embed ${GS_EMBEDDED} ${CMAKE_SOURCE_DIR}/kernels/ ${GS_KERNEL_FILES}
                   DEPENDS gs_embed ${GS_KERNEL_FILES}
                   COMMENT "Embedding kernels")
