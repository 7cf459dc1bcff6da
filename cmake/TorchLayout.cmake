# Writes the header HEADER with the constants of PROBE (collector/torch/layout_probe.cpp), which COMPILER translates to
# assembler text with the include folders INCLUDES (separated by colons): nothing is linked, nothing runs.
string(REPLACE ":" ";" folders "${INCLUDES}")
list(TRANSFORM folders PREPEND "-isystem")
execute_process(COMMAND ${COMPILER} -std=c++20 -w -O0 -fno-lto -fno-access-control -DNDEBUG ${folders} -S -o - ${PROBE}
  OUTPUT_VARIABLE text RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "${PROBE} does not compile against the headers of this torch: see above. This torch is not one "
    "of those that dc-memtrace knows, or its headers are not complete.")
endif()

set(lines "")
file(STRINGS ${PROBE} wanted REGEX "^(CONSTANT|FUNCTION)\\(")
foreach(line IN LISTS wanted)
  string(REGEX MATCH "^(CONSTANT|FUNCTION)\\(([A-Za-z]+)" line "${line}")
  set(kind ${CMAKE_MATCH_1})
  set(name ${CMAKE_MATCH_2})
  if(NOT text MATCHES "\ndcmt_layout_${name}:[ \t]*(#[^\n]*)?\n[ \t]*\\.quad[ \t]+([0-9]+)")
    message(FATAL_ERROR "${name} of ${PROBE} is no constant in what ${COMPILER} wrote.")
  endif()
  set(value ${CMAKE_MATCH_2})
  if(kind STREQUAL "FUNCTION")
    # One more than the distance in bytes; in front of the first function stand two words (Itanium C++ ABI).
    math(EXPR value "(${value} - 1) / 8 + 2")
  endif()
  string(APPEND lines "inline constexpr std::size_t ${name} = ${value};\n")
endforeach()

file(CONFIGURE OUTPUT ${HEADER} CONTENT "// Written by cmake/TorchLayout.cmake from the headers of the torch in use.
#pragma once

#include <cstddef>

namespace dcmt::torch_provider::layout {

${lines}
}  // namespace dcmt::torch_provider::layout
" @ONLY)
file(TOUCH ${HEADER})  # newer than what it was made from, also where nothing changed
