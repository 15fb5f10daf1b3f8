# Turns every file of a folder into a string of one generated C file, so that the library carries its kernels and device profiles.
add_executable(gs_embed ${CMAKE_SOURCE_DIR}/tools/embed.c)
set_target_properties(gs_embed PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tools)
function(gs_embed_folder folder table out)   # the generated file is ${out}; further arguments: patterns
  set(patterns ${ARGN})
  list(TRANSFORM patterns PREPEND ${CMAKE_SOURCE_DIR}/${folder}/)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${patterns})
  list(SORT files)
  add_custom_command(OUTPUT ${out}
                     COMMAND gs_embed ${out} ${table} ${CMAKE_SOURCE_DIR}/${folder}/ ${files}
                     DEPENDS gs_embed ${files}
                     COMMENT "Embedding ${folder}")
endfunction()
set(GS_EMBEDDED ${CMAKE_BINARY_DIR}/embedded.c)
set(GS_PROFILES ${CMAKE_BINARY_DIR}/profiles.c)
set(GS_PROBE_KERNELS ${CMAKE_BINARY_DIR}/probe_kernels.c)   # of tools/probe.c alone; not in the library
gs_embed_folder(kernels gs_embedded_files ${GS_EMBEDDED} *.cu *.cuh *.h)
gs_embed_folder(profiles gs_embedded_profiles ${GS_PROFILES} *.profile)
gs_embed_folder(tools gs_embedded_probe ${GS_PROBE_KERNELS} probe.cu)
