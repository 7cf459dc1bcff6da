// Proves at load that this torch is the expected one: every offset of layout.h on live objects, and the virtual tables.
#pragma once

#include <cstddef>

#include "collector/torch/facts/layout.h"

namespace dcmt::torch_provider {

/// The fields of layout.h, so that tests can change one.
struct Fields {
  std::size_t count = layout::kCount;
  std::size_t tensor_storage = layout::kTensorStorage;
  std::size_t tensor_autograd = layout::kTensorAutograd;
  std::size_t tensor_py_object = layout::kTensorPyObject;
  std::size_t tensor_offset = layout::kTensorOffset;
  std::size_t tensor_elements = layout::kTensorElements;
  std::size_t tensor_dtype = layout::kTensorDtype;
  std::size_t storage_data = layout::kStorageData;
  std::size_t storage_device = layout::kStorageDevice;
  std::size_t storage_bytes = layout::kStorageBytes;
  std::size_t storage_py_object = layout::kStoragePyObject;
  std::size_t view_base = layout::kViewBase;
  std::size_t view_has_base = layout::kViewHasBase;
};

/// nullptr if the fields of live objects with known values other than 0 are as expected; else what differs.
const char* wrong_fields(const Fields& fields);

/// nullptr if every check passes, else one line: which check failed, and what to do.
const char* self_check();

}  // namespace dcmt::torch_provider
