// Classes of C++ objects in the inspected process, by the type information of their virtual tables.
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
  Kind kind = Kind::kCppObject;                     ///< tensor, storage, node, or another object
  bool is_module = false, is_optimizer = false;     ///< torch::nn::Module, torch::optim::Optimizer
  const std::vector<SavedMember>* saved = nullptr;  ///< only for a generated node
};

/// Classes by the addresses of their virtual tables.
class CppTypes {
 public:
  /// `layout` must outlive this object.
  explicit CppTypes(const TorchLayout& layout) : layout_(layout) {}

  /// The class of the object at `object`; nullptr if no object with a virtual table can be there.
  const CppType* type_of(Mirror& memory, Address object);

  [[nodiscard]] const TorchLayout& layout() const { return layout_; }

  /// Forgets addresses without a virtual table: a library may have been loaded there since.
  void forget_misses();

 private:
  std::unique_ptr<CppType> read(Mirror& memory, Address table);

  const TorchLayout& layout_;
  std::unordered_map<Address, std::unique_ptr<CppType>> types_;
};

}  // namespace dcmt::scan
