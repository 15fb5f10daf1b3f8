# The scripted worker of the tuner's and the worker's tests.
add_executable(fake_worker ${CMAKE_CURRENT_LIST_DIR}/worker.c)
target_link_libraries(fake_worker PRIVATE gemmsmith_all)
target_include_directories(fake_worker PRIVATE ${CMAKE_SOURCE_DIR}/tests)
set_target_properties(fake_worker PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/fake)
