// Classes of C++ objects in the inspected process, by the run-time type information behind their virtual tables.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>

#include "collector/scan/layout/torch_layout.h"
#include "collector/scan/memory/mirror.h"
#include "collector/scan/objects/reference.h"

namespace dcmt::scan {

struct CppType {
  std::string name;                                 ///< "torch::autograd::generated::AddmmBackward0"
  std::string short_name;                           ///< "AddmmBackward0"
  Kind kind = Kind::kCppObject;                     ///< tensor, storage, node, or any other
  const std::vector<SavedMember>* saved = nullptr;  ///< of a generated node
};

/// Classes by the addresses of their virtual tables.
class CppTypes {
 public:
  /// `layout` must outlive this object.
  explicit CppTypes(const TorchLayout& layout) : layout_(layout) {}

  /// The class of the object at `object`; nullptr where no object with a virtual table can be.
  const CppType* type_of(Mirror& memory, Address object);

  /// Forgets which addresses held no virtual table: a library can since have been loaded there.
  void forget_misses();

 private:
  std::unique_ptr<CppType> read(Mirror& memory, Address table);

  const TorchLayout& layout_;
  std::unordered_map<Address, std::unique_ptr<CppType>> types_;
};

}  // namespace dcmt::scan
