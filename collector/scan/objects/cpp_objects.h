// Decodes objects of the program's own classes, and containers, by their shapes.
#pragma once

#include <string>

#include "collector/scan/objects/found_references.h"

namespace dcmt::scan {

/// Not thread-safe.
class CppObjects {
 public:
  CppObjects(Mirror& memory, ProcessTypes& types, FoundReferences& found)
      : memory_(memory), types_(types), found_(found) {}

  void decode_class(Address object);
  void decode_container(Address object);
  /// What a variable of this shape at this address is, or leads to.
  void decode_variable(Address variable, ShapeIndex shape) { refer(variable, shape, {Label::kRoot, 0, 1}); }

 private:
  struct Step {
    Label label = Label::kName;
    std::uint64_t index = 0;
    std::uint8_t cost = 1;
  };
  void refer(Address at, ShapeIndex shape, const Step& step, int depth = 0);
  [[nodiscard]] bool is_of(Address object, TorchClass expected);
  void points_to(Address object, ShapeIndex shape, const Step& step, int depth);
  void members(Address at, const CppShape& shape, const std::string& before, int depth);
  void member(Address at, ShapeIndex shape, const std::string& label, int depth);
  void add(Address object, ShapeIndex shape, const Step& step);
  void entry(Address at, const CppShape& container, std::uint64_t number);
  [[nodiscard]] std::string key_of(Address entry, const CppShape& container);
  [[nodiscard]] bool vector(Address at, const CppShape& shape);
  [[nodiscard]] bool deque(Address at, const CppShape& shape);
  [[nodiscard]] bool list(Address at, const CppShape& shape);
  [[nodiscard]] bool tree(Address at, const CppShape& shape);
  [[nodiscard]] bool hash(Address at, const CppShape& shape);
  [[nodiscard]] bool flat_hash(Address at, const CppShape& shape);
  void optimizer_state(Address object);

  Mirror& memory_;
  ProcessTypes& types_;
  FoundReferences& found_;
  int members_left_ = 0;
};

}  // namespace dcmt::scan
