# For the torch in DCMT_TORCH_DIR: sets DCMT_CUDA_INCLUDE to the folders of CUDA's headers and DCMT_CUPTI_INCLUDE to those
# and CUPTI's; empty where there are none. They come with torch's wheels for CUDA, or from a toolkit. Neither library is
# linked. DCMT_CUDA_FACTS says whether torch's allocator for CUDA can be asked for its facts.
get_filename_component(site_packages ${DCMT_TORCH_DIR} DIRECTORY)
unset(DCMT_CUDA_HEADER_DIR)
unset(DCMT_CUPTI_HEADER_DIR)
unset(DCMT_CUDA_COMPILER_HEADER_DIR)
file(GLOB wheels ${site_packages}/nvidia/cu*/include)
set(DCMT_CUDA_TOOLKITS "$ENV{CUDA_HOME};$ENV{CUDA_PATH};/usr/local/cuda" CACHE STRING "Where a toolkit of CUDA may be")
# Nowhere else: what lies among the system's headers may be of any version.
find_path(DCMT_CUDA_HEADER_DIR cuda_runtime_api.h PATHS ${wheels} ${DCMT_CUDA_TOOLKITS} PATH_SUFFIXES include NO_DEFAULT_PATH NO_CACHE)
find_path(DCMT_CUPTI_HEADER_DIR cupti.h PATHS ${DCMT_CUDA_HEADER_DIR} ${wheels} ${DCMT_CUDA_TOOLKITS}
  PATH_SUFFIXES include extras/CUPTI/include NO_DEFAULT_PATH NO_CACHE)
# What the runtime's headers include from the compiler's is in none of torch's wheels since CUDA 13. Triton, which torch for
# CUDA needs, has it.
find_path(DCMT_CUDA_COMPILER_HEADER_DIR crt/host_defines.h PATHS ${DCMT_CUDA_HEADER_DIR} ${DCMT_CUDA_TOOLKITS}
  ${site_packages}/triton/backends/nvidia PATH_SUFFIXES include NO_DEFAULT_PATH NO_CACHE)

set(DCMT_CUDA_INCLUDE "")
set(DCMT_CUPTI_INCLUDE "")
if(DCMT_CUDA_HEADER_DIR AND DCMT_CUDA_COMPILER_HEADER_DIR)
  set(DCMT_CUDA_INCLUDE ${DCMT_CUDA_HEADER_DIR} ${DCMT_CUDA_COMPILER_HEADER_DIR})
  if(DCMT_CUPTI_HEADER_DIR)
    set(DCMT_CUPTI_INCLUDE ${DCMT_CUPTI_HEADER_DIR} ${DCMT_CUDA_INCLUDE})
  endif()
endif()
set(DCMT_CUDA_FACTS OFF)
if(DCMT_CUDA_INCLUDE AND EXISTS ${DCMT_TORCH_DIR}/include/c10/cuda/CUDACachingAllocator.h)
  set(DCMT_CUDA_FACTS ON)
else()
  message(STATUS "no headers of CUDA, or a torch without it: streams and reserved bytes will not be seen")
endif()
if(NOT DCMT_CUPTI_INCLUDE)
  message(STATUS "no headers of CUPTI: the CUDA provider is not built, kernels will not be seen")
endif()
