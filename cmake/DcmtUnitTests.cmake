# dcmt_unit_tests(TARGET LIBRARY...): TARGET, which has tests alone, tests what is in the libraries.
find_package(GTest REQUIRED)
include(GoogleTest)

function(dcmt_unit_tests target)
  target_link_libraries(${target} PRIVATE ${ARGN} GTest::gtest_main)
  # What is tested is compiled as users get it. Of the tests, most of the time is their compiler's.
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  gtest_discover_tests(${target})
endfunction()
