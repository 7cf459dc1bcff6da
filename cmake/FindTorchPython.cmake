# Finds a Python with torch: DCMT_PYTHON, else the project environment, else python3. Sets DCMT_PYTHON_EXECUTABLE,
# DCMT_PYTHON_INCLUDE and DCMT_TORCH_DIR.
set(DCMT_PYTHON_INCLUDE "" CACHE PATH "Headers of the CPython that will be recorded; empty: those of the Python found")

# Sets PREFIX_INCLUDE (headers of CPython) and PREFIX_TORCH (folder of torch) for the Python PROGRAM; both empty where that
# cannot be run or has no torch.
function(dcmt_ask_torch program prefix)
  set(query "import os,sysconfig,importlib.util as u\ns=u.find_spec('torch')\nprint(sysconfig.get_path('include')+';'+os.path.dirname(s.origin))")
  execute_process(COMMAND ${program} -c "${query}" OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE failed
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  set(include "")
  set(torch "")
  if(NOT failed)
    list(GET answer 0 include)
    list(GET answer 1 torch)
  endif()
  set(${prefix}_INCLUDE ${include} PARENT_SCOPE)
  set(${prefix}_TORCH ${torch} PARENT_SCOPE)
endfunction()

if(DCMT_PYTHON)
  set(candidates ${DCMT_PYTHON})
else()
  set(candidates $ENV{DCMT_PYTHON} ${PROJECT_SOURCE_DIR}/.venv/bin/python python3)
endif()
foreach(candidate IN LISTS candidates)
  dcmt_ask_torch(${candidate} asked)
  if(asked_TORCH)
    set(DCMT_PYTHON_EXECUTABLE ${candidate})
    if(NOT DCMT_PYTHON_INCLUDE)
      set(DCMT_PYTHON_INCLUDE ${asked_INCLUDE})
    endif()
    set(DCMT_TORCH_DIR ${asked_TORCH})
    break()
  endif()
endforeach()
if(NOT DCMT_TORCH_DIR)
  message(FATAL_ERROR "No Python with torch found. Set DCMT_PYTHON to one, run scripts/demo once (it makes .venv), "
    "or configure with -DDCMT_COLLECTOR=OFF for trace, analyzer and cli only.")
endif()
message(STATUS "torch: ${DCMT_TORCH_DIR} (Python ${DCMT_PYTHON_EXECUTABLE})")
