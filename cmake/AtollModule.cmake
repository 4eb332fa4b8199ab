# Modules that wait for compilers, devices and other processes for most of their time.
set(ATOLL_WAITING_MODULES eval scheduler)

# atoll_module(name SOURCES... LINK targets...): one static library, atoll_<name>, of one folder.
function(atoll_module name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(atoll_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(atoll_${name} PUBLIC atoll_flags ${ARG_LINK} m)
  if(ATOLL_SANITIZE AND name IN_LIST ATOLL_WAITING_MODULES) # what these do takes as long as others take; compiling them took a third
    target_compile_options(atoll_${name} PRIVATE -O0)
  endif()
  if(ATOLL_FUZZ) # here is what fuzzers are guided by: what counts the ways through tests and simulator costs them time and guides nobody
    target_compile_options(atoll_${name} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# atoll_program(name SOURCES... LINK...): one executable in the build folder's root, installed to bin.
function(atoll_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE atoll_flags ${ARG_LINK} m)
  install(TARGETS ${name} RUNTIME DESTINATION bin)
endfunction()

# atoll_add_test(name label timeout command...): one ctest entry.  ATOLL_QUIET_TESTS run alone and wait for a quiet machine
# (tests/quiet.py); ATOLL_SLOW_TESTS are unit tests under the label slow; ATOLL_PLAIN_TESTS do not run under sanitizers.
function(atoll_add_test name label timeout)
  set(command ${ARGN})
  if(ATOLL_SANITIZE AND name IN_LIST ATOLL_PLAIN_TESTS)
    return()
  endif()
  if(name IN_LIST ATOLL_SLOW_TESTS)
    set(label slow)
  endif()
  if(name IN_LIST ATOLL_QUIET_TESTS)
    set(command ${ATOLL_PYTHON} ${PROJECT_SOURCE_DIR}/tests/quiet.py ${CMAKE_BINARY_DIR}/tests/skips.txt -- ${command})
  endif()
  add_test(NAME ${name} COMMAND ${command})
  # A guard against what hangs, no measure of speed: timeout is generous on a quiet machine, others may want it, too, and
  # sanitizers make some tests ten times as slow.
  math(EXPR timeout "${timeout} * 3")
  if(ATOLL_SANITIZE)
    math(EXPR timeout "${timeout} * 2")
  endif()
  # A Python with torch would be found in PATH on some machines: tests that want one say so.
  # Short stacks and a small quarantine of freed memory: a quarter of the sanitizers' time.
  # A calibration takes one to three seconds, and each run made one: a probe says whether that of an earlier test holds.
  set_tests_properties(${name} PROPERTIES LABELS ${label} TIMEOUT ${timeout} SKIP_RETURN_CODE 77
                       ENVIRONMENT "ATOLL_PYTHON=none;ATOLL_KEEP_CALIBRATION=${ATOLL_TEST_CALIBRATIONS};ASAN_OPTIONS=malloc_context_size=6:quarantine_size_mb=16")
  list(FIND ATOLL_TEST_SECONDS ${name} at)
  if(at GREATER -1)
    math(EXPR at "${at} + 1")
    list(GET ATOLL_TEST_SECONDS ${at} seconds)
    set_tests_properties(${name} PROPERTIES COST ${seconds})
  endif()
  if(name IN_LIST ATOLL_QUIET_TESTS)
    math(EXPR timeout "${timeout} * 2 + 120") # it may wait twice, and run twice
    set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} RUN_SERIAL TRUE FIXTURES_REQUIRED quiet)
  endif()
endfunction()

# atoll_test_program(target SOURCES... LINK...): a program of the tests in tests/bin.
function(atoll_test_program target)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${target} ${ARG_SOURCES})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests/bin)
  target_link_libraries(${target} PRIVATE atoll_flags ${ARG_LINK} m)
  # Optimizing a test, and what the sanitizers add to it, takes longer than running it: what it tests is optimized, in libraries.
  if(ATOLL_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  else() # gcc's warnings that hang on what the optimizer knows are false without all of it
    target_compile_options(${target} PRIVATE -Og -g1 $<$<C_COMPILER_ID:GNU>:-Wno-format-truncation;-Wno-maybe-uninitialized>)
  endif()
endfunction()

# atoll_test(<module>.<noun> SOURCES... LINK... LABELS...): one cmocka program, one ctest entry.
function(atoll_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;LABELS" ${ARGN})
  string(REGEX REPLACE "[.-]" "_" target "test_${name}")
  atoll_test_program(${target} SOURCES ${ARG_SOURCES} LINK ${ARG_LINK} atoll_dep_cmocka)
  target_compile_definitions(${target} PRIVATE ATOLL_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ATOLL_BUILD_DIR="${CMAKE_BINARY_DIR}")
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  atoll_add_test(${name} ${ARG_LABELS} ${ARG_TIMEOUT} $<TARGET_FILE:${target}>)
endfunction()

# atoll_unit_tests(module LINK...): every test_<noun>.c below tests/unit/<module> becomes the test <module>.<noun>.  Most are parts of
# one program, which is told the noun: to link one for each took longer than to compile it.  Tests of ATOLL_OWN_PROGRAMS, and those
# whose main has parameters, are programs of their own.
function(atoll_unit_tests module)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/unit/${module}/test_*.c)
  string(REPLACE "-" "_" shared_target "tests_${module}")
  set(shared_files)
  set(shared_nouns)
  foreach(file ${files})
    get_filename_component(noun ${file} NAME_WE)
    string(REGEX REPLACE "^test_" "" noun ${noun})
    string(REPLACE "_" "-" name ${module}.${noun})
    file(STRINGS ${file} has_parameters REGEX "^int main\\(int" LIMIT_COUNT 1)
    if(has_parameters OR name IN_LIST ATOLL_OWN_PROGRAMS)
      atoll_test(${name} SOURCES ${file} LINK ${ARG_LINK} LABELS unit)
    else()
      list(APPEND shared_files ${file})
      string(APPEND shared_nouns "TEST(${noun})\n")
      set_source_files_properties(${file} PROPERTIES COMPILE_DEFINITIONS main=main_of_${noun}) # tests/support/expect.h declares it
      atoll_add_test(${name} unit 120 $<TARGET_FILE:${shared_target}> ${noun})
    endif()
  endforeach()
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${shared_target}.h CONTENT "${shared_nouns}")
  atoll_test_program(${shared_target} SOURCES ${PROJECT_SOURCE_DIR}/tests/support/one_of_many.c ${shared_files} LINK ${ARG_LINK} atoll_dep_cmocka)
  target_compile_definitions(${shared_target} PRIVATE ATOLL_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ATOLL_BUILD_DIR="${CMAKE_BINARY_DIR}"
                             ATOLL_TEST_LIST="${CMAKE_CURRENT_BINARY_DIR}/${shared_target}.h")
endfunction()
