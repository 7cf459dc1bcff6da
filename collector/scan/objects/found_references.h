// Collects the references that a decoder finds, and drops those that lead to nothing.
#pragma once

#include <vector>

#include "collector/scan/objects/process_types.h"

namespace dcmt::scan {

/// Not thread-safe; for one pass over one mirror.
class FoundReferences {
 public:
  /// @param leaves  also adds Python objects that have no references: numbers, texts
  FoundReferences(Mirror& memory, ProcessTypes& types, bool leaves = false)
      : memory_(memory), types_(types), leaves_(leaves) {}

  /// Sets where later references are added.
  void collect_into(std::vector<Reference>& references) {
    references_ = &references;
    references.clear();
  }

  [[nodiscard]] bool adds_leaves() const { return leaves_; }

  /// Adds a word that should be a Python object. Adds nothing if it is not one, or, unless leaves are added, if that
  /// object has no references.
  void python(Address word, Label label, std::uint64_t index, std::uint8_t cost = 1);
  void python(Address word, const std::string& name, std::uint8_t cost = 1) {
    if (word != 0) python(word, Label::kName, types_.names.number(name), cost);
  }

  /// Adds a reference of a frame. Since 3.14, a tag says that the frame only borrows the object, whose count does not
  /// include it, or that the word is a small int: neither holds anything.
  void slot(Address word, Label label, std::uint64_t index, std::uint8_t cost = 1);
  void slot(Address word, const std::string& name, std::uint8_t cost = 1) {
    slot(word, Label::kName, types_.names.number(name), cost);
  }

  /// Adds a word that should be a tensor, a storage or an autograd node. Adds nothing if it is none of these.
  void cpp(Address word, Label label, std::uint64_t index, std::uint8_t cost = 1);
  void cpp(Address word, const std::string& name, std::uint8_t cost = 1) {
    if (word != 0) cpp(word, Label::kName, types_.names.number(name), cost);
  }

  void frame(Address frame, const std::string& name) {
    references_->push_back({frame, types_.names.number(name), Kind::kFrame, Label::kName, 0});
  }

  /// Adds an object of the program's own, whose shape is known.
  void typed(Address object, Kind kind, Label label, std::uint64_t index, std::uint8_t cost) {
    references_->push_back({object, index, kind, label, cost});
  }

  /// Drops what was added after the first `count`.
  void drop_since(std::size_t count) { references_->resize(count); }

  [[nodiscard]] std::size_t count() const { return references_->size(); }

  /// The object changed while it was read: its references are unknown.
  void torn() { ++torn_; }
  [[nodiscard]] std::size_t torn_objects() const { return torn_; }

 private:
  Mirror& memory_;
  ProcessTypes& types_;
  const bool leaves_;
  std::vector<Reference>* references_ = nullptr;
  std::size_t torn_ = 0;
};

}  // namespace dcmt::scan
