// The shapes of the program's own objects that a census has come to.
#pragma once

#include <memory>
#include <unordered_map>
#include <utility>

#include "collector/scan/objects/cpp_shape.h"

namespace dcmt::scan {

/// Not thread-safe.
class TypedObjects {
 public:
  /// Forgets all objects.
  /// @param shapes  may be null
  void begin(std::shared_ptr<const CppShapes> shapes) {
    shapes_ = std::move(shapes);
    classes_.clear();
    containers_.clear();
  }

  /// Of two shapes the larger one counts: a pointer may be to a base.
  void add(Address object, Kind kind, ShapeIndex index) {
    const auto [known, is_new] = of(kind).try_emplace(object, index);
    if (!is_new && shape(index).bytes > shape(known->second).bytes) known->second = index;
  }
  [[nodiscard]] const CppShape& shape(ShapeIndex index) const {
    return shapes_ != nullptr && index < shapes_->all.size() ? shapes_->all[index] : kNoShape;
  }
  /// The shape of what a std::function has; 0: not known.
  [[nodiscard]] ShapeIndex functor(Address manager) const {
    if (shapes_ == nullptr) return 0;
    const auto found = shapes_->functors.find(manager);
    return found != shapes_->functors.end() ? found->second : 0;
  }
  /// Adds a list of std::function; false: no shapes are known.
  bool add_hooks(Address list) {
    if (shapes_ == nullptr || shapes_->functors.empty()) return false;
    add(list, Kind::kCppContainer, shapes_->hooks);
    return true;
  }
  [[nodiscard]] const CppShape& shape_of(Address object, Kind kind) const {
    const auto& all = kind == Kind::kCppContainer ? containers_ : classes_;
    const auto found = all.find(object);
    return found != all.end() ? shape(found->second) : kNoShape;
  }

 private:
  inline static const CppShape kNoShape = {};

  std::unordered_map<Address, ShapeIndex>& of(Kind kind) {
    return kind == Kind::kCppContainer ? containers_ : classes_;
  }

  std::shared_ptr<const CppShapes> shapes_;
  std::unordered_map<Address, ShapeIndex> classes_, containers_;
};

}  // namespace dcmt::scan
