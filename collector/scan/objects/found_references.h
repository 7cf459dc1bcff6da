// Collects what a decoder finds, and leaves out what can lead nowhere.
#pragma once

#include <vector>

#include "collector/scan/objects/process_types.h"

namespace dcmt::scan {

/// Not thread-safe; made for one pass over one mirror.
class FoundReferences {
 public:
  FoundReferences(Mirror& memory, ProcessTypes& types) : memory_(memory), types_(types) {}

  /// Where what is added from now on goes.
  void collect_into(std::vector<Reference>& references) {
    references_ = &references;
    references.clear();
  }

  /// A word that should be a Python object. Nothing is added where it is none, or where it refers to nothing.
  void python(Address word, Label label, std::uint64_t index, std::uint8_t cost = 1);
  void python(Address word, const std::string& name, std::uint8_t cost = 1) {
    if (word != 0) python(word, Label::kName, types_.names.number(name), cost);
  }

  /// A word that should be a tensor, a storage or an autograd node. Nothing is added where it is none of them.
  void cpp(Address word, Label label, std::uint64_t index, std::uint8_t cost = 1);
  void cpp(Address word, const std::string& name, std::uint8_t cost = 1) {
    if (word != 0) cpp(word, Label::kName, types_.names.number(name), cost);
  }

  void frame(Address frame, const std::string& name) {
    references_->push_back({frame, types_.names.number(name), Kind::kFrame, Label::kName, 0});
  }

  [[nodiscard]] std::size_t count() const { return references_->size(); }

  /// The object was being changed while it was read: what it refers to is not known.
  void torn() { ++torn_; }
  [[nodiscard]] std::size_t torn_objects() const { return torn_; }

 private:
  Mirror& memory_;
  ProcessTypes& types_;
  std::vector<Reference>* references_ = nullptr;
  std::size_t torn_ = 0;
};

}  // namespace dcmt::scan
