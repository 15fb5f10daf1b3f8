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
set(GS_PROMPTS ${CMAKE_BINARY_DIR}/prompts.c)
set(GS_HEADER_TEXTS ${CMAKE_BINARY_DIR}/header_texts.c)
set(GS_PAGES ${CMAKE_BINARY_DIR}/pages.c)
set(GS_NOTES ${CMAKE_BINARY_DIR}/notes.c)
set(GS_PROBE_KERNELS ${CMAKE_BINARY_DIR}/probe_kernels.c)   # of tools/probe.c alone; not in the library
set(GS_REPORT_PAGE ${CMAKE_BINARY_DIR}/report_page.c)         # of the report
gs_embed_folder(kernels gs_embedded_files ${GS_EMBEDDED} *.cu *.cuh *.h)
gs_embed_folder(profiles gs_embedded_profiles ${GS_PROFILES} *.profile)
gs_embed_folder(include/gemmsmith gs_embedded_headers ${GS_HEADER_TEXTS} *.h)
gs_embed_folder(docs gs_embedded_pages ${GS_PAGES} howto/*.md internals/*.md)
gs_embed_folder(share/prompts gs_embedded_prompts ${GS_PROMPTS} *.md)
gs_embed_folder(share/notes gs_embedded_notes ${GS_NOTES} *.md)
gs_embed_folder(tools gs_embedded_probe ${GS_PROBE_KERNELS} probe.cu)
gs_embed_folder(share/report gs_embedded_report ${GS_REPORT_PAGE} *.css *.js *.txt)

# The plotting library of gemmsmith report, as the system has it installed. -DGS_CHART_JS=FILE names another copy (chart.min.js or chart.umd.js).
find_file(GS_CHART_JS NAMES chart.min.js chart.umd.min.js chart.umd.js
          PATHS /usr/share/javascript/chart.js /usr/local/share/javascript/chart.js /usr/share/nodejs/chart.js/dist NO_DEFAULT_PATH)
if(NOT GS_CHART_JS OR NOT EXISTS ${GS_CHART_JS})
  message(FATAL_ERROR "Chart.js is missing, which draws the pictures of gemmsmith report: install the package libjs-chart.js (scripts/setup.sh does), "
                      "or name the file with -DGS_CHART_JS=.../chart.min.js")
endif()
file(READ ${GS_CHART_JS} gs_chart_head LIMIT 400)
if(NOT gs_chart_head MATCHES "Chart\\.js v[34]\\.")
  message(FATAL_ERROR "${GS_CHART_JS} is not Chart.js 3 or 4: name the file of one with -DGS_CHART_JS=.../chart.min.js")
endif()
configure_file(${GS_CHART_JS} ${CMAKE_BINARY_DIR}/chart/chart.js COPYONLY)
set(GS_CHART ${CMAKE_BINARY_DIR}/chart.c)
add_custom_command(OUTPUT ${GS_CHART} COMMAND gs_embed ${GS_CHART} gs_embedded_chart ${CMAKE_BINARY_DIR}/chart/ ${CMAKE_BINARY_DIR}/chart/chart.js
                   DEPENDS gs_embed ${CMAKE_BINARY_DIR}/chart/chart.js COMMENT "Embedding Chart.js")
