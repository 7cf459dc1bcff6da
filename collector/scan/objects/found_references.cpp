#include "collector/scan/objects/found_references.h"

#include "collector/scan/objects/python_offsets.h"

namespace dcmt::scan {
namespace {

constexpr std::uint8_t kIntoAModule = 6;  // a path through a module is rarely useful to a person
constexpr Address kCollectorFlags = 3;    // the low bits of its links

}  // namespace

void FoundReferences::python(Address word, Label label, std::uint64_t index, std::uint8_t cost) {
  const PythonType* type = types_.python_types.type_of(memory_, word);
  if (type == nullptr || (type->leaf && !leaves_) || type->kind == Kind::kCode) return;
  if (label == Label::kWord && type->has_flag(kCollectedBit)) {
    // A guess counts only if the object is in the collector's list: its neighbour points back.
    const Address next = memory_.word(word - kCollectorHead) & ~kCollectorFlags;
    if (next != 0 && (memory_.word(next + 8) & ~kCollectorFlags) != word - kCollectorHead) return;
  }
  if (type->kind == Kind::kModule) cost = static_cast<std::uint8_t>(cost + kIntoAModule);
  references_->push_back({word, index, type->kind, label, cost});
}

void FoundReferences::slot(Address word, Label label, std::uint64_t index, std::uint8_t cost) {
  if ((word & static_cast<Address>(types_.python.reference_tags)) == 0) python(word, label, index, cost);
}

void FoundReferences::cpp(Address word, Label label, std::uint64_t index, std::uint8_t cost) {
  if (word == 0) return;
  const CppType* type = types_.cpp_types.type_of(memory_, word);
  if (type != nullptr && type->kind != Kind::kCppObject) references_->push_back({word, index, type->kind, label, cost});
}

}  // namespace dcmt::scan
