// Data that all decoders of one process share: the layouts, the types found so far, the texts of labels.
#pragma once

#include "collector/scan/layout/python_layout.h"
#include "collector/scan/layout/torch_layout.h"
#include "collector/scan/objects/cpp_types.h"
#include "collector/scan/objects/python_types.h"
#include "collector/scan/objects/reference.h"
#include "collector/scan/objects/typed_objects.h"

namespace dcmt::scan {

/// Types and names stay valid over several censuses of a process. Not thread-safe.
struct ProcessTypes {
  ProcessTypes(const PythonLayout& python_layout, TorchLayout torch_layout)
      : python(python_layout), torch(std::move(torch_layout)), python_types(python), cpp_types(torch) {}
  ProcessTypes(const ProcessTypes&) = delete;
  ProcessTypes& operator=(const ProcessTypes&) = delete;

  void forget_misses() {
    python_types.forget_misses();
    cpp_types.forget_misses();
  }

  const PythonLayout python;
  const TorchLayout torch;
  PythonTypes python_types;
  CppTypes cpp_types;
  Names names;
  TypedObjects typed;
};

}  // namespace dcmt::scan
