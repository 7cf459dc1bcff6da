// The shapes of types that lead to tensors, by debug information: the program's classes, libstdc++'s containers and
// pointers, and torch's.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "collector/recorder/unwind/debug_info.h"
#include "collector/scan/objects/cpp_shape.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class TypeShapes {
 public:
  TypeShapes() { add_classes_of_torch(); }

  /// The shape of a type of a file; that of something that leads to no tensor is 0.
  [[nodiscard]] scan::ShapeIndex of(const DebugInfo& info, std::uint64_t type);
  /// What a std::function has that this function manages.
  void add_functor(const DebugInfo& info, std::uint64_t type, scan::Address manager);
  /// All shapes so far.
  [[nodiscard]] std::shared_ptr<const scan::CppShapes> all();

 private:
  using Is = TypeEntry::Is;
  struct Item {
    scan::KeyForm key = scan::KeyForm::kNone;
    std::uint64_t key_at = 0, key_bytes = 0, value_at = 0, value = 0;  ///< value: a type
  };

  scan::ShapeIndex add(const DebugInfo& info, std::uint64_t type);
  [[nodiscard]] scan::CppShape shape_of(const DebugInfo& info, const TypeEntry& type);
  [[nodiscard]] bool is_known(const DebugInfo& info, const TypeEntry& type, scan::CppShape& shape);
  [[nodiscard]] bool is_pointer(const DebugInfo& info, const TypeEntry& type, scan::CppShape& shape);
  [[nodiscard]] bool is_container(const DebugInfo& info, const TypeEntry& type, scan::CppShape& shape);
  [[nodiscard]] bool is_of_torch(const DebugInfo& info, const TypeEntry& type, scan::CppShape& shape);
  void add_members(const DebugInfo& info, const TypeEntry& type, scan::CppShape& shape);
  void entries(const DebugInfo& info, std::uint64_t type, scan::ShapeForm form, scan::CppShape& shape);
  void pairs(const DebugInfo& info, std::uint64_t pair, scan::ShapeForm form, scan::CppShape& shape);
  [[nodiscard]] Item item_of(const DebugInfo& info, const TypeEntry& pair) const;
  void settle(std::size_t first);
  /// The shapes of torch's classes, as its headers have them.
  void add_classes_of_torch();

  scan::CppShapes shapes_;
  std::map<std::pair<const DebugInfo*, std::uint64_t>, scan::ShapeIndex> known_;
  std::shared_ptr<const scan::CppShapes> shared_;
  std::size_t depth_ = 0;
  scan::ShapeIndex module_ = 0, optimizer_ = 0;
};

}  // namespace dcmt::recorder
