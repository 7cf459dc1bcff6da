# dcmt_unit_tests(TARGET LIBRARY...): TARGET, which has tests alone, tests what is in the libraries. The first target
# compiles the headers of the tests for all of them.
find_package(GTest REQUIRED)
include(GoogleTest)

function(dcmt_unit_tests target)
  target_link_libraries(${target} PRIVATE ${ARGN} GTest::gtest_main)
  # What is tested is compiled as users get it. Of the tests, most of the time is their compiler's.
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-Og> ${DCMT_PRECOMPILED_WARNINGS})
  get_property(first GLOBAL PROPERTY DCMT_FIRST_UNIT_TESTS)
  if(first)
    target_precompile_headers(${target} REUSE_FROM ${first})
  else()
    target_precompile_headers(${target} PRIVATE <gtest/gtest.h> ${DCMT_PRECOMPILED})
    set_property(GLOBAL PROPERTY DCMT_FIRST_UNIT_TESTS ${target})
  endif()
  dcmt_compile_together(${target})
  gtest_discover_tests(${target})
endfunction()
