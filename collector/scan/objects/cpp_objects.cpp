#include "collector/scan/objects/cpp_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "collector/scan/objects/torch_layouts.h"

namespace dcmt::scan {
namespace {

/// Limits: of entries that are read, of classes within each other, of a key's text. Debug information can be damaged.
constexpr std::uint64_t kMostEntries = 1 << 20;
constexpr int kDeepestMember = 12;
/// Of one object.
constexpr int kMostMembers = 4096;
constexpr std::uint64_t kLongestKey = 64;
/// A pointer that keeps nothing alive leads to the same objects as their owner, whose path says more.
constexpr std::uint8_t kBorrowedCost = 5;

constexpr Address kMachineWord = sizeof(Address);
/// In a std::function, behind its object or that's address.
constexpr Address kFunctionManager = 16;

/// What torch's optimizers keep of a parameter: members of classes that a program's debug information does not have.
struct StateMember {
  std::string_view type;
  Address offset;
  std::string_view label;
};
constexpr std::array kStateMembers = {
    StateMember{"AdamParamState", 16, ".exp_avg"},
    StateMember{"AdamParamState", 24, ".exp_avg_sq"},
    StateMember{"AdamParamState", 32, ".max_exp_avg_sq"},
    StateMember{"AdamWParamState", 16, ".exp_avg"},
    StateMember{"AdamWParamState", 24, ".exp_avg_sq"},
    StateMember{"AdamWParamState", 32, ".max_exp_avg_sq"},
    StateMember{"SGDParamState", 8, ".momentum_buffer"},
    StateMember{"RMSpropParamState", 16, ".square_avg"},
    StateMember{"RMSpropParamState", 24, ".momentum_buffer"},
    StateMember{"RMSpropParamState", 32, ".grad_avg"},
    StateMember{"AdagradParamState", 8, ".sum"},
};

bool is_identifier(std::string_view word) {
  const auto is_letter = [](unsigned char letter) { return std::isalnum(letter) != 0 || letter == '_'; };
  return !word.empty() && std::isdigit(static_cast<unsigned char>(word[0])) == 0 &&
         std::ranges::all_of(word, is_letter);
}

bool is_number(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](unsigned char letter) { return std::isdigit(letter) != 0; });
}

}  // namespace

void CppObjects::decode_class(Address object) {
  const CppShape& shape = types_.typed.shape_of(object, Kind::kCppClass);
  if (shape.form != ShapeForm::kClass) return;
  members_left_ = kMostMembers;
  if (shape.role == Role::kOptimizerState) optimizer_state(object);
  members(object, shape, "", 0);
}

void CppObjects::optimizer_state(Address object) {
  const CppType* const type = types_.cpp_types.type_of(memory_, object);
  if (type == nullptr) return;
  for (const StateMember& member : kStateMembers) {
    if (member.type == type->short_name) found_.cpp(memory_.word(object + member.offset), std::string(member.label));
  }
}

void CppObjects::decode_container(Address object) {
  const CppShape& shape = types_.typed.shape_of(object, Kind::kCppContainer);
  const std::size_t before = found_.count();
  const auto read = [&] {
    switch (shape.form) {
      case ShapeForm::kVector:
        return vector(object + shape.at, shape);
      case ShapeForm::kDeque:
        return deque(object + shape.at, shape);
      case ShapeForm::kList:
        return list(object + shape.at, shape);
      case ShapeForm::kTree:
        return tree(object + shape.at, shape);
      case ShapeForm::kHash:
        return hash(object + shape.at, shape);
      case ShapeForm::kFlatHash:
        return flat_hash(object, shape);
      case ShapeForm::kArray: {
        if (shape.stride == 0) return false;
        const std::uint64_t count = std::min(shape.bytes / shape.stride, kMostEntries);
        for (std::uint64_t i = 0; i < count; ++i) entry(object + i * shape.stride, shape, i);
        return true;
      }
      default:
        return true;
    }
  };
  if (read()) return;
  found_.drop_since(before);  // not a container any more, or not yet
  found_.torn();
}

bool CppObjects::is_of(Address object, TorchClass expected) {
  if (expected == TorchClass::kNone) return true;
  const CppType* const type = types_.cpp_types.type_of(memory_, object);
  return type != nullptr && (expected == TorchClass::kModule ? type->is_module : type->is_optimizer);
}

void CppObjects::members(Address at, const CppShape& shape, const std::string& before, int depth) {
  if (!is_of(at, shape.is)) return;
  for (const CppMember& each : shape.members) member(at + each.offset, each.shape, before + each.label, depth + 1);
}

void CppObjects::member(Address at, ShapeIndex index, const std::string& label, int depth) {
  const CppShape& shape = types_.typed.shape(index);
  if (depth > kDeepestMember || --members_left_ < 0) return;
  if (shape.form == ShapeForm::kClass) return members(at, shape, label, depth);
  if (shape.form == ShapeForm::kOptional) {
    if (memory_.value<std::uint8_t>(at + shape.at) == 1) member(at, shape.element, label, depth + 1);
    return;
  }
  refer(at, index, {Label::kName, types_.names.number(label), 1}, depth);
}

/// What an entry, or a member that is no class, leads to.
void CppObjects::refer(Address at, ShapeIndex index, const Step& step, int depth) {
  const CppShape& shape = types_.typed.shape(index);
  switch (shape.form) {
    case ShapeForm::kNothing:
      return;
    case ShapeForm::kObject:
      return found_.cpp(memory_.word(at), step.label, step.index, step.cost);
    case ShapeForm::kValue:
      return found_.cpp(tensor_of_value(memory_, at), step.label, step.index, step.cost);
    case ShapeForm::kOptional:
      if (depth < kDeepestMember && memory_.value<std::uint8_t>(at + shape.at) == 1)
        refer(at, shape.element, step, depth + 1);
      return;
    case ShapeForm::kFunction:  // what is not trivially copied lies in memory of its own
      return points_to(memory_.word(at), types_.typed.functor(memory_.word(at + kFunctionManager)), step, depth);
    case ShapeForm::kPointer: {
      Step further = step;
      if (!shape.owns) further.cost = kBorrowedCost;
      return points_to(memory_.word(at), shape.element, further, depth);
    }
    default:
      return add(at, index, step);
  }
}

void CppObjects::points_to(Address object, ShapeIndex index, const Step& step, int depth) {
  if (can_be_object(object) && depth < kDeepestMember) refer(object, index, step, depth + 1);
}

/// Adds an object with a shape of its own: a class or a container.
void CppObjects::add(Address object, ShapeIndex index, const Step& step) {
  const CppShape& shape = types_.typed.shape(index);
  const bool is_object = shape.form == ShapeForm::kClass || shape.is_container();
  if (!is_object || !can_be_object(object) || memory_.at(object, kMachineWord) == nullptr) return;
  const Kind kind = shape.is_container() ? Kind::kCppContainer : Kind::kCppClass;
  types_.typed.add(object, kind, index);
  found_.typed(object, kind, step.label, step.index, step.cost);
}

std::string CppObjects::key_of(Address entry, const CppShape& container) {
  const Address at = entry + container.key_at;
  if (container.key == KeyForm::kText) {  // libstdc++'s std::string: the text's address, and its length
    const Address text = memory_.word(at);
    const std::uint64_t length = std::min(memory_.word(at + kMachineWord), kLongestKey);
    const std::byte* const bytes = length == 0 ? nullptr : memory_.at(text, length);
    return bytes == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(bytes), length);
  }
  std::uint64_t number = memory_.word(at);
  const unsigned unused =
      container.key_bytes >= kMachineWord ? 0 : static_cast<unsigned>(8 * (kMachineWord - container.key_bytes));
  number <<= unused;
  return container.key == KeyForm::kSigned ? std::to_string(static_cast<std::int64_t>(number) >> unused)
                                           : std::to_string(number >> unused);
}

void CppObjects::entry(Address at, const CppShape& container, std::uint64_t number) {
  Step step{Label::kItem, number, 1};
  if (container.key != KeyForm::kNone) {
    const std::string key = key_of(at, container);
    std::string text = is_number(key) || container.key != KeyForm::kText ? "[" + key + "]" : "['" + key + "']";
    if (container.is_attributes && is_identifier(key)) text = "." + key;
    step.label = container.is_attributes ? Label::kName : Label::kKey;
    step.index = types_.names.number(text);
  }
  refer(at + container.value_at, container.element, step);
}

bool CppObjects::vector(Address at, const CppShape& shape) {
  const Address begin = memory_.word(at), end = memory_.word(at + kMachineWord),
                capacity = memory_.word(at + 2 * kMachineWord);
  if (begin == 0 && end == 0) return true;
  if (begin == 0 || begin > end || end > capacity || shape.stride == 0) return false;
  if ((end - begin) % shape.stride != 0 || (end - begin) / shape.stride > kMostEntries) return false;
  for (std::uint64_t i = 0; begin + i * shape.stride < end; ++i) entry(begin + i * shape.stride, shape, i);
  return true;
}

bool CppObjects::deque(Address at, const CppShape& shape) {
  // The list of blocks, its length, then two iterators: element, begin and end of its block, its place in the list.
  constexpr std::uint64_t kBlock = 512;
  const auto iterator = [&](Address from) {
    return std::pair{memory_.word(from), memory_.word(from + 3 * kMachineWord)};
  };
  auto [element, place] = iterator(at + 2 * kMachineWord);
  const auto [end, last_place] = iterator(at + 6 * kMachineWord);
  if (shape.stride == 0 || place == 0 || place > last_place || (last_place - place) / kMachineWord > kMostEntries)
    return false;
  const std::uint64_t per_block = shape.stride < kBlock ? kBlock / shape.stride : 1;
  Address block = memory_.word(place);
  for (std::uint64_t i = 0; i < kMostEntries; ++i) {
    if (block == 0 || element < block || element > block + per_block * shape.stride) return false;
    if (place == last_place && element == end) return true;
    if (element == block + per_block * shape.stride) {
      if (place == last_place) return false;
      place += kMachineWord;
      element = block = memory_.word(place);
      --i;
      continue;
    }
    entry(element, shape, i);
    element += shape.stride;
  }
  return false;
}

bool CppObjects::list(Address at, const CppShape& shape) {
  // A node: next, previous, the element. The list itself is a node whose element is its length.
  constexpr Address kElement = 2 * kMachineWord;
  const std::uint64_t count = memory_.word(at + kElement);
  if (count > kMostEntries) return false;
  Address node = memory_.word(at);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (node == at || !can_be_object(node)) return false;
    entry(node + kElement, shape, i);
    node = memory_.word(node);
  }
  return node == at;
}

bool CppObjects::tree(Address at, const CppShape& shape) {
  // A node: colour, parent, left, right, the element. The header's parent is the root.
  constexpr Address kParent = kMachineWord, kLeft = 2 * kMachineWord, kRight = 3 * kMachineWord,
                    kElement = 4 * kMachineWord;
  const Address header = at + kMachineWord;
  const std::uint64_t count = memory_.word(header + kElement);
  if (count > kMostEntries) return false;
  Address node = memory_.word(header + kLeft);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (node == header || !can_be_object(node)) return false;
    entry(node + kElement, shape, i);
    // The next one in order.
    int left = 128;
    if (const Address right = memory_.word(node + kRight); right != 0) {
      node = right;
      for (Address next = memory_.word(node + kLeft); next != 0 && left-- > 0; next = memory_.word(node + kLeft))
        node = next;
    } else {
      Address parent = memory_.word(node + kParent);
      while (node == memory_.word(parent + kRight) && parent != header && left-- > 0) {
        node = parent;
        parent = memory_.word(parent + kParent);
      }
      node = parent;
    }
    if (left <= 0) return false;
  }
  return node == header;
}

bool CppObjects::hash(Address at, const CppShape& shape) {
  // Buckets, their number, the first node, the number of elements. A node: next, the element.
  const std::uint64_t count = memory_.word(at + 3 * kMachineWord);
  if (count > kMostEntries) return false;
  Address node = memory_.word(at + 2 * kMachineWord);
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!can_be_object(node)) return false;
    entry(node + kMachineWord, shape, i);
    node = memory_.word(node);
  }
  return node == 0;
}

bool CppObjects::flat_hash(Address at, const CppShape& shape) {
  const FlatHashMap map{memory_.word(at + shape.at), memory_.word(at + shape.last_slot_at),
                        memory_.value<std::int8_t>(at + shape.probes_at), shape.stride};
  return map.each(memory_, kMostEntries, [&](Address slot, std::uint64_t number) { entry(slot, shape, number); });
}

}  // namespace dcmt::scan
