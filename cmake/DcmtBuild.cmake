# How every target of the project is compiled: C++20, warnings (errors with DCMT_WERROR), hidden symbols, ccache where present.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/dcmt)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

find_program(DCMT_CCACHE ccache)
if(DCMT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Without this sloppiness ccache leaves alone what uses precompiled headers.
  set(launcher env CCACHE_SLOPPINESS=pch_defines,time_macros ${DCMT_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

# Headers of the standard library that many files include, compiled once. dcmt_trace, on which everything depends, does it;
# dcmt_use_precompiled(TARGET...) gives them to other libraries with the same flags. The sources include what they use all
# the same: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without.
set(DCMT_PRECOMPILED <algorithm> <array> <atomic> <cassert> <charconv> <compare> <cstddef> <cstdint> <cstdlib> <cstring>
  <deque> <filesystem> <functional> <iterator> <limits> <map> <memory> <new> <optional> <ranges> <set> <span> <string>
  <string_view> <tuple> <type_traits> <unordered_map> <unordered_set> <utility> <variant> <vector>)
# GCC 12 does not remember of a precompiled header that it is the system's, and then reports what it takes for errors in the
# C++ library's own strings.
set(DCMT_PRECOMPILED_WARNINGS -Wno-array-bounds -Wno-restrict -Wno-stringop-overread -Wno-stringop-overflow)
function(dcmt_use_precompiled)
  foreach(target IN LISTS ARGN)
    target_precompile_headers(${target} REUSE_FROM dcmt_trace)
    target_compile_options(${target} PRIVATE ${DCMT_PRECOMPILED_WARNINGS})
  endforeach()
endfunction()

# dcmt_compile_together(TARGET...): compiles up to eight files of a folder as one, because most of a file's time is that of
# its headers. So the names of a folder's files differ, also those in unnamed namespaces.
option(DCMT_UNITY "Compile several files of a folder as one; OFF for tools that read compile_commands.json" ON)
function(dcmt_compile_together)
  foreach(target IN LISTS ARGN)
    set(folders "")
    get_target_property(sources ${target} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.cpp$")
    foreach(source IN LISTS sources)
      cmake_path(GET source PARENT_PATH folder)
      cmake_path(GET folder FILENAME folder)
      list(APPEND folders "${folder}")
      set(before ${folders})
      list(FILTER before INCLUDE REGEX "^${folder}$")
      list(LENGTH before number)
      math(EXPR number "(${number} - 1) / 8")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${folder}_${number}")
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${DCMT_UNITY} UNITY_BUILD_MODE GROUP)
  endforeach()
endfunction()

add_library(dcmt_options INTERFACE)
target_include_directories(dcmt_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(dcmt_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion
  $<$<BOOL:${DCMT_WERROR}>:-Werror>)

# dcmt_options plus sanitizers, for everything that never enters a process with torch.
add_library(dcmt_checked INTERFACE)
target_link_libraries(dcmt_checked INTERFACE dcmt_options)
if(DCMT_SANITIZE)
  target_compile_options(dcmt_checked INTERFACE -fsanitize=${DCMT_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(dcmt_checked INTERFACE -fsanitize=${DCMT_SANITIZE})
endif()
