// The references of one object of the inspected process, as its decoder found them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/scan/memory/memory_source.h"

namespace dcmt::scan {

/// The kind of an object, which selects its decoder. Python's kinds come first.
enum class Kind : std::uint8_t {
  kNone,
  kObject,  ///< of a type without a decoder of its own: its words are read
  kDict,
  kList,
  kTuple,
  kSet,
  kDeque,
  kCell,
  kFunction,
  kMethod,
  kPartial,
  kLruCache,
  kLruLink,
  kTeeBlock,  ///< of itertools.tee
  kGenerator,
  kFrameObject,
  kException,
  kTraceback,
  kModule,
  kType,
  kWeakReference,
  kCode,
  kArray,  ///< of numpy
  kPythonTensor,
  kPythonStorage,
  kPythonFunction,  ///< the context of a custom autograd.Function
  kCapsule,         ///< a C pointer with a name
  kFrame,           ///< an interpreter's frame: not an object, but on a stack or inside a generator
  kTensor,          ///< TensorImpl; this and the following kinds are C++ objects
  kStorage,
  kNode,
  kCppObject,
  kCppClass,      ///< of a class of the program, by its shape
  kCppContainer,  ///< likewise: its references are its entries
};

/// Objects are aligned, and not in the lowest pages.
[[nodiscard]] constexpr bool can_be_object(Address address) { return (address & 7) == 0 && address >= 65536; }

[[nodiscard]] constexpr bool is_python_object(Kind kind) { return kind > Kind::kNone && kind < Kind::kFrame; }

/// How an object refers to another one: the text of a step in a path.
enum class Label : std::uint8_t {
  kRoot,         ///< the name of a root; `index` into the graph's roots
  kItem,         ///< [index] of a list, tuple or deque
  kDictValue,    ///< value of the entry whose key is the object at `index`
  kDictKey,      ///< the key of an entry
  kSetItem,      ///< any element of a set
  kInlineValue,  ///< attribute `index` of the type's shared keys
  kWord,         ///< the word at byte `index`: a guess
  kLocal,        ///< local variable `index` of a frame
  kOperand,      ///< operand `index` of a frame's stack: not proved while the frame runs
  kName,         ///< `index` into Names
  kKey,          ///< an entry of a container of C++, whose key is in the text: `index` into Names
};

/// The role of a storage in a graph, a module or an optimizer, as far as objects show it. Of several, the last counts.
enum class Role : std::uint8_t { kNone, kSaved, kBuffer, kOptimizerState, kGradient, kParameter };

/// "parameter"; empty for kNone.
[[nodiscard]] constexpr std::string_view name_of(Role role) {
  switch (role) {
    case Role::kSaved:
      return "saved for backward";
    case Role::kBuffer:
      return "buffer";
    case Role::kOptimizerState:
      return "optimizer state";
    case Role::kParameter:
      return "parameter";
    case Role::kGradient:
      return "gradient";
    case Role::kNone:
      break;
  }
  return "";
}

/// Cost of a reference to what a whole module or all classes have: nearly everything can be reached from there.
inline constexpr std::uint8_t kThroughGlobals = 9;

struct Reference {
  Address target = 0;
  std::uint64_t index = 0;
  Kind kind = Kind::kNone;
  Label label = Label::kRoot;
  std::uint8_t cost = 1;  ///< a path with a lower cost is more readable
};

/// Maps small numbers to texts of labels.
class Names {
 public:
  [[nodiscard]] std::uint32_t number(const std::string& text) {
    const auto [found, fresh] = numbers_.try_emplace(text, static_cast<std::uint32_t>(texts_.size()));
    if (fresh) texts_.push_back(text);
    return found->second;
  }
  [[nodiscard]] const std::string& text(std::uint64_t number) const { return texts_[number]; }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

}  // namespace dcmt::scan
