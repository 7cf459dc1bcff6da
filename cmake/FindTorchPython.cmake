# Finds a Python with torch: DCMT_PYTHON, else the project environment, else python3. Sets DCMT_PYTHON_EXECUTABLE,
# DCMT_PYTHON_INCLUDE and DCMT_TORCH_DIR.
set(DCMT_PYTHON_INCLUDE "" CACHE PATH "Headers of the CPython that will be recorded; empty: those of the Python found")
if(DCMT_PYTHON)
  set(candidates ${DCMT_PYTHON})
else()
  set(candidates $ENV{DCMT_PYTHON} ${PROJECT_SOURCE_DIR}/.venv/bin/python python3)
endif()
set(query "import os,sysconfig,importlib.util as u\ns=u.find_spec('torch')\nprint(sysconfig.get_path('include')+';'+os.path.dirname(s.origin))")
foreach(candidate IN LISTS candidates)
  execute_process(COMMAND ${candidate} -c "${query}" OUTPUT_VARIABLE answer ERROR_QUIET RESULT_VARIABLE result
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(result EQUAL 0)
    set(DCMT_PYTHON_EXECUTABLE ${candidate})
    if(NOT DCMT_PYTHON_INCLUDE)
      list(GET answer 0 DCMT_PYTHON_INCLUDE)
    endif()
    list(GET answer 1 DCMT_TORCH_DIR)
    break()
  endif()
endforeach()
if(NOT DCMT_TORCH_DIR)
  message(FATAL_ERROR "No Python with torch found. Set DCMT_PYTHON to one, run scripts/demo once (it makes .venv), "
    "or configure with -DDCMT_COLLECTOR=OFF for trace, analyzer and cli only.")
endif()
# CUDA's headers come with torch's wheels for CUDA, or from a toolkit. Without them there are fewer facts of GPUs.
find_path(DCMT_CUDA_INCLUDE cuda_runtime_api.h NO_DEFAULT_PATH
  PATHS ${DCMT_TORCH_DIR}/../nvidia/cu13/include ${DCMT_TORCH_DIR}/../nvidia/cuda_runtime/include
        $ENV{CUDA_HOME}/include /usr/local/cuda/include)
set(DCMT_CUDA_FACTS OFF CACHE INTERNAL "")
if(DCMT_CUDA_INCLUDE AND EXISTS ${DCMT_TORCH_DIR}/include/c10/cuda/CUDACachingAllocator.h)
  set(DCMT_CUDA_FACTS ON CACHE INTERNAL "")
endif()
message(STATUS "torch: ${DCMT_TORCH_DIR} (Python ${DCMT_PYTHON_EXECUTABLE})")
