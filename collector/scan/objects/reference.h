// What one object of the inspected process refers to, as its decoder found it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/scan/memory/memory_source.h"

namespace dcmt::scan {

/// What an object is, as far as it decides how the object is decoded. Python's kinds come first.
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
  kGenerator,
  kFrameObject,
  kException,
  kTraceback,
  kModule,
  kType,
  kWeakReference,
  kCode,
  kPythonTensor,
  kPythonStorage,
  kPythonFunction,  ///< the context of a custom autograd.Function
  kCapsule,         ///< a C pointer with a name
  kFrame,           ///< an interpreter's frame: no object, it lies on a stack or within a generator
  kTensor,          ///< TensorImpl; this and what follows are C++ objects
  kStorage,
  kNode,
  kCppObject,
};

[[nodiscard]] constexpr bool is_python_object(Kind kind) { return kind > Kind::kNone && kind < Kind::kFrame; }

/// How an object refers to another one: what the step of a path is called.
enum class Label : std::uint8_t {
  kRoot,         ///< the name of a root; `index` into the graph's roots
  kItem,         ///< [index] of a list, tuple or deque
  kDictValue,    ///< value of the entry whose key is the object at `index`
  kDictKey,      ///< that key
  kSetItem,      ///< some element of a set
  kInlineValue,  ///< attribute `index` of the type's shared keys
  kWord,         ///< the word at byte `index`: a guess
  kLocal,        ///< local variable `index` of a frame
  kOperand,      ///< operand `index` of a frame's stack: unproven while the frame runs
  kName,         ///< `index` into Names
};

/// What a storage is to a graph, a module or an optimizer, as far as objects say it. Of several the last counts.
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

struct Reference {
  Address target = 0;
  std::uint64_t index = 0;
  Kind kind = Kind::kNone;
  Label label = Label::kRoot;
  std::uint8_t cost = 1;  ///< the cheaper, the better the path reads
};

/// Texts of labels by small numbers.
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
