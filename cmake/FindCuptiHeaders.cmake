# Sets DCMT_CUPTI_INCLUDE to the folders of cupti.h and cuda.h, where there are any: of the Python's wheels, which are
# those of the torch in use, else of a toolkit. Neither library is linked.
get_filename_component(site_packages ${DCMT_TORCH_DIR} DIRECTORY)
file(GLOB candidates ${site_packages}/nvidia/cu*/include ${site_packages}/nvidia/cuda_cupti/include)
find_path(DCMT_CUPTI_HEADER_DIR cupti.h HINTS ${candidates}
  PATHS $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda PATH_SUFFIXES include extras/CUPTI/include)
file(GLOB candidates ${site_packages}/nvidia/cu*/include ${site_packages}/nvidia/cuda_runtime/include)
find_path(DCMT_CUDA_HEADER_DIR cuda.h HINTS ${DCMT_CUPTI_HEADER_DIR} ${candidates}
  PATHS $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda PATH_SUFFIXES include)
mark_as_advanced(DCMT_CUPTI_HEADER_DIR DCMT_CUDA_HEADER_DIR)
if(DCMT_CUPTI_HEADER_DIR AND DCMT_CUDA_HEADER_DIR)
  set(DCMT_CUPTI_INCLUDE ${DCMT_CUPTI_HEADER_DIR} ${DCMT_CUDA_HEADER_DIR})
else()
  message(STATUS "no headers of CUPTI: the CUDA provider is not built, kernels will not be seen")
endif()
