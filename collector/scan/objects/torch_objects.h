// Decodes torch's objects: tensors, autograd nodes, their saved tensors, and Python objects that torch defines.
#pragma once

#include "collector/scan/objects/found_references.h"

namespace dcmt::scan {

/// Not thread-safe.
class TorchObjects {
 public:
  TorchObjects(Mirror& memory, ProcessTypes& types, FoundReferences& found)
      : memory_(memory), types_(types), torch_(types.torch), found_(found) {}

  void decode_tensor(Address tensor);
  void decode_node(Address node);
  /// Decodes a torch.Tensor, without the dictionary of its attributes.
  void decode_python_tensor(Address object);
  /// Decodes the torch.UntypedStorage, without the dictionary of its attributes.
  void decode_python_storage(Address object);
  void decode_storage(Address storage);
  /// Decodes the context of a custom autograd.Function, without the dictionary of its attributes.
  void decode_python_function(Address object);
  /// Decodes the target of a DLPack capsule's pointer. Finds nothing if another library made the capsule.
  void decode_dlpack(Address managed);

 private:
  [[nodiscard]] bool owns_python_object(Address object);
  void view_base(Address info);
  void saved_variable(Address saved, const std::string& name);
  void saved_by_function(Address context);
  void saved_vector(Address vector, const std::string& name);
  void cpp_hooks(Address hooks);
  void python_hooks(Address vector, const char* name);

  Mirror& memory_;
  ProcessTypes& types_;
  const TorchLayout& torch_;
  FoundReferences& found_;
};

}  // namespace dcmt::scan
