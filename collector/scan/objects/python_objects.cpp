#include "collector/scan/objects/python_objects.h"

#include <algorithm>
#include <cstdlib>

#include "collector/scan/objects/numpy_array.h"
#include "collector/scan/objects/python_offsets.h"

namespace dcmt::scan {
namespace {

constexpr std::uint32_t kMostLocals = 10000;
constexpr std::uint64_t kMostSharedKeys = 64;  // CPython shares the keys of at most 30 attributes
constexpr std::int64_t kMostItems = 4096;
constexpr Address kDictUsed = 16, kDictHeader = 48;  // in PyDictObject, 3.11 to 3.15
/// References whose objects are loaded into the processor's cache together.
constexpr std::size_t kTogether = 64;
constexpr int kMoreReadings = 2;  // for a dict that has changed
/// Structures that no header declares; equal in 3.11 to 3.15 (Modules/_collectionsmodule.c, _functoolsmodule.c).
constexpr Address kDequeBlock = 64, kDequeFirstBlock = 24, kDequeItems = 8, kDequeRight = 520;
constexpr Address kPartialFunction = 16, kPartialArguments = 24, kPartialKeywords = 32, kPartialDict = 40;
constexpr std::int64_t kLruFirstMember = 56;
constexpr Address kLruKey = 40, kLruResult = 48;
constexpr std::string_view kTask = "_asyncio.Task";
/// A context's variables (Python/context.c, hamt.c): a tree, whose nodes have pairs of a variable and its value, or of
/// nothing and a node; or 32 nodes.
constexpr std::string_view kContextType = "_contextvars.Context", kTree = "hamt", kTreePairs = "hamt_bitmap_node",
                           kTreeCollision = "hamt_collision_node", kTreeNodes = "hamt_array_node";
constexpr Address kContextTree = 24, kTreeRoot = 16, kTreeFirstPair = 32, kTreeFirstNode = 16;
constexpr Address kMostPairs = 64;  // words
/// What one iterator of itertools.tee is ahead of another: blocks of values, each with the next one
/// (itertoolsmodule.c).
constexpr Address kTeeCount = 24, kTeeNext = 32, kTeeItems = 40;
constexpr std::uint32_t kMostTeeItems = 57;
/// What a pickler has written: a table of objects with their numbers (Modules/_pickle.c).
constexpr std::string_view kPickler = "_pickle.Pickler";
constexpr Address kPicklerMemo = 16, kMemoMask = 0, kMemoTable = 24, kMemoEntry = 16;
constexpr Address kCapsulePointer = 16, kCapsuleName = 24;

// Additional costs of these references.
constexpr std::uint8_t kThroughAFunction = 5, kThroughAGuess = 3, kThroughAKey = 2;

std::uint32_t small(std::int64_t number) { return static_cast<std::uint32_t>(number); }

}  // namespace

Address code_of_frame(Mirror& memory, const PythonLayout& layout, Address frame) {
  return layout.without_tag(memory.word(frame + layout.frame_code));
}

DictKeys read_dict_keys(Mirror& memory, const PythonLayout& layout, Address keys) {
  DictKeys result;
  if (memory.at(keys, static_cast<std::size_t>(layout.keys_indices)) == nullptr) return result;
  const auto log2_size = memory.value<std::uint8_t>(keys + layout.keys_log2_size);
  const auto log2_index_bytes = memory.value<std::uint8_t>(keys + layout.keys_log2_index_bytes);
  const auto kind = memory.value<std::uint8_t>(keys + layout.keys_kind);
  result.count = memory.word(keys + layout.keys_nentries);
  if (log2_size > 40 || log2_index_bytes > 44 || kind > 2 || result.count > (std::uint64_t{1} << log2_size))
    return result;
  result.text_only = kind != 0;
  result.entries = keys + layout.keys_indices + (Address{1} << log2_index_bytes);
  result.ok = true;
  return result;
}

PythonObjects::PythonObjects(Mirror& memory, ProcessTypes& types, std::uint64_t longest, bool leaves)
    : memory_(memory),
      types_(types),
      layout_(types.python),
      longest_(longest),
      found_(memory, types, leaves),
      torch_(memory, types, found_),
      cpp_(memory, types, found_) {}

void PythonObjects::decode(Address object, Kind kind, std::vector<Reference>& references) {
  found_.collect_into(references);
  switch (kind) {
    case Kind::kFrame:
      return frame(object);
    case Kind::kTensor:
      return torch_.decode_tensor(object);
    case Kind::kNode:
      return torch_.decode_node(object);
    case Kind::kStorage:
      return torch_.decode_storage(object);
    case Kind::kCppClass:
      return cpp_.decode_class(object);
    case Kind::kCppContainer:
      return cpp_.decode_container(object);
    case Kind::kCppObject:
    case Kind::kNone:
      return;
    default:
      return python_object(object);
  }
}

void PythonObjects::python_object(Address object) {
  const PythonType* type = types_.python_types.type_of(memory_, object);
  if (type == nullptr) return;
  switch (type->kind) {
    case Kind::kDict:
      dict(object);
      if (type->basic_size <= layout_.dict_size) return;
      break;
    case Kind::kList:
      items(memory_.word(object + layout_.list_items), memory_.word(object + layout_.var_size), Label::kItem);
      break;
    case Kind::kTuple:
      items(object + layout_.tuple_items, memory_.word(object + layout_.var_size), Label::kItem);
      break;
    case Kind::kSet:
      items(memory_.word(object + layout_.set_table), memory_.word(object + layout_.set_mask) + 1, Label::kSetItem, 16);
      break;
    case Kind::kDeque:
      deque(object);
      break;
    case Kind::kCell:
      return found_.python(memory_.word(object + layout_.cell_content), ".cell_contents");
    case Kind::kFunction:
      return function(object);
    case Kind::kMethod:
      found_.python(memory_.word(object + layout_.method_self), ".__self__");
      return found_.python(memory_.word(object + layout_.method_function), ".__func__", kThroughAGuess);
    case Kind::kPartial:
      found_.python(memory_.word(object + kPartialFunction), ".func");
      found_.python(memory_.word(object + kPartialArguments), ".args");
      found_.python(memory_.word(object + kPartialKeywords), ".keywords");
      return found_.python(memory_.word(object + kPartialDict), ".__dict__", 0);
    case Kind::kLruCache:
      lru_cache(object, *type);
      break;
    case Kind::kLruLink:
      found_.python(memory_.word(object + kLruKey), " (arguments)");
      return found_.python(memory_.word(object + kLruResult), " (result)");
    case Kind::kGenerator: {
      const auto state = memory_.value<std::int8_t>(object + layout_.generator_state);
      if (state < layout_.generator_finished) found_.frame(object + layout_.generator_frame, ".gi_frame");
      return;
    }
    case Kind::kFrameObject:
      if (const Address frame = memory_.word(object + layout_.frameobject_frame); frame != 0) found_.frame(frame, "");
      return found_.python(memory_.word(object + layout_.frameobject_back), ".f_back", 4);
    case Kind::kException:
      return exception(object, *type);
    case Kind::kTraceback:
      found_.python(memory_.word(object + layout_.traceback_next), ".tb_next");
      return found_.python(memory_.word(object + layout_.traceback_frame), ".tb_frame");
    case Kind::kModule:
      return module(object);
    case Kind::kType:
      return type_object(object, *type);
    case Kind::kWeakReference:
      // A weak reference does not hold its object.
      found_.python(memory_.word(object + layout_.weakref_callback), ".__callback__");
      if (type->basic_size > layout_.weakref_size) words(object, *type, layout_.weakref_size);
      return attributes(object, *type);
    case Kind::kCapsule:
      // "dltensor", "dltensor_versioned", "numpy_dltensor"; a name with "used_" means that another library has the
      // tensor.
      if (const std::string name = memory_.text(memory_.word(object + kCapsuleName), 40);
          name.find("dltensor") != std::string::npos && !name.starts_with("used_")) {
        torch_.decode_dlpack(memory_.word(object + kCapsulePointer));
      }
      return;
    case Kind::kPythonTensor:
      torch_.decode_python_tensor(object);
      break;
    case Kind::kPythonStorage:
      torch_.decode_python_storage(object);
      break;
    case Kind::kPythonFunction:
      torch_.decode_python_function(object);
      break;
    case Kind::kArray:
      array(object);
      words(object, *type, 16);
      return attributes(object, *type);
    case Kind::kTeeBlock:
      items(object + kTeeItems, std::min(memory_.value<std::uint32_t>(object + kTeeCount), kMostTeeItems),
            Label::kItem);
      found_.python(memory_.word(object + kTeeNext), " (next)");
      break;
    default:
      if (context(object, *type)) return;
      if (type->name == kPickler) pickler(object);
      words(object, *type, 16);
      return attributes(object, *type);
  }
  members(object, *type);
  attributes(object, *type);
}

std::int64_t PythonObjects::stack_top(Address frame) {
  if (layout_.frame_stackpointer < 0) return memory_.value<std::int32_t>(frame + layout_.frame_stacktop);
  // A frame at work has written it down at its latest call of a C function.
  const Address first = frame + layout_.frame_locals;
  const Address pointer = memory_.word(frame + layout_.frame_stackpointer);
  return pointer < first ? 0 : static_cast<std::int64_t>((pointer - first) / 8);
}

void PythonObjects::frame(Address frame) {
  const Address code = code_of_frame(memory_, layout_, frame);
  const PythonType* type = types_.python_types.type_of(memory_, code);
  const auto count = memory_.value<std::uint32_t>(code + layout_.code_nlocalsplus);
  if (type == nullptr || type->kind != Kind::kCode || count > kMostLocals) return found_.torn();
  for (std::uint32_t i = 0; i < count; ++i) {
    found_.slot(memory_.word(frame + layout_.frame_locals + Address{8} * i), Label::kLocal, i);
  }
  const std::int64_t top = std::min<std::int64_t>(stack_top(frame), kMostLocals);
  for (std::uint32_t i = count; i < top; ++i) {
    found_.slot(memory_.word(frame + layout_.frame_locals + Address{8} * i), Label::kOperand, i - count, 2);
  }
  found_.python(memory_.word(frame + layout_.frame_locals_dict), ".f_locals", 2);
  found_.slot(memory_.word(frame + layout_.frame_function), " (function)", kThroughAFunction);
}

void PythonObjects::prefetch(const std::byte* words, std::size_t count, std::size_t stride) {
  for (std::size_t i = 0; i < std::min(count, kTogether); ++i) {
    Address word = 0;
    std::memcpy(&word, words + i * stride, 8);
    memory_.prefetch(word);
  }
}

void PythonObjects::values(Address first, Address keys, Label label) {
  const DictKeys shared = read_dict_keys(memory_, layout_, keys);
  const std::byte* all = shared.ok && shared.count <= kMostSharedKeys ? memory_.at(first, shared.count * 8) : nullptr;
  if (all == nullptr) return found_.torn();
  prefetch(all, shared.count, 8);
  for (std::uint32_t i = 0; i < shared.count; ++i) {
    Address value = 0;
    std::memcpy(&value, all + std::size_t{8} * i, 8);
    if (value == 0) continue;
    const Address key = shared.entries + i * shared.entry_size() + shared.key_offset();
    found_.python(value, label, label == Label::kDictValue ? memory_.word(key) : i);
  }
}

void PythonObjects::dict(Address object) {
  const Address keys = memory_.word(object + layout_.dict_keys);
  if (const Address split = memory_.word(object + layout_.dict_values); split != 0) {
    return values(split + layout_.values_items, keys, Label::kDictValue);
  }
  const std::optional<DictKeys> table = table_of(object);
  const std::byte* all =
      table && table->count <= longest_ ? memory_.at(table->entries, table->count * table->entry_size()) : nullptr;
  if (all == nullptr) return found_.torn();
  for (std::uint32_t i = 0; i < table->count; ++i) {
    Address key = 0;
    Address value = 0;
    const std::byte* entry = all + table->entry_size() * i + table->key_offset();
    if (i % kTogether == 0) prefetch(entry + 8, table->count - i, table->entry_size());
    std::memcpy(&key, entry, 8);
    std::memcpy(&value, entry + 8, 8);
    if (value == 0) continue;
    found_.python(value, Label::kDictValue, key);
    if (!table->text_only || found_.adds_leaves()) found_.python(key, Label::kDictKey, key, kThroughAKey);
  }
}

/// If the table is replaced while it is read, reads all of it again: all variables of a module are in one table.
std::optional<DictKeys> PythonObjects::table_of(Address dict) {
  for (int reading = 0; reading <= kMoreReadings; ++reading) {
    if (reading > 0) memory_.forget({dict, dict + kDictHeader});
    const Address keys = memory_.word(dict + layout_.dict_keys);
    const Address after_header = keys + static_cast<Address>(layout_.keys_indices);
    if (reading > 0) memory_.forget({keys, after_header});
    const DictKeys table = read_dict_keys(memory_, layout_, keys);
    // A new table has no entries until those of the old one have been copied.
    if (!table.ok || table.count < memory_.word(dict + kDictUsed)) continue;
    const Address size = std::min(table.count, longest_) * table.entry_size();
    // The pages after the header were read earlier, and may belong to another table by now.
    if (reading > 0) memory_.forget({(after_header + kPageBytes - 1) / kPageBytes * kPageBytes, table.entries + size});
    // A small table was read at once.
    if (table.entries + size - keys <= kPageBytes) return table;
    if (memory_.at(table.entries, size) == nullptr || memory_.word_now(dict + layout_.dict_keys) == keys) return table;
  }
  return std::nullopt;
}

void PythonObjects::items(Address first, std::uint64_t count, Label label, Address stride) {
  if (count == 0) return;
  const std::byte* all = count <= longest_ ? memory_.at(first, count * stride) : nullptr;
  if (all == nullptr) return found_.torn();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (i % kTogether == 0) prefetch(all + i * stride, count - i, stride);
    Address word = 0;
    std::memcpy(&word, all + i * stride, 8);
    if (word != 0) found_.python(word, label, i);
  }
}

void PythonObjects::array(Address object) {
  const std::optional<ObjectElements> elements = object_elements(memory_, object);
  if (elements) items(elements->first, elements->count, Label::kItem);
}

void PythonObjects::deque(Address object) {
  const std::uint64_t count = memory_.word(object + layout_.var_size);
  const Address first = memory_.word(object + kDequeFirstBlock);
  Address block = first;
  Address index = memory_.word(object + kDequeFirstIndex);
  if (count > longest_ || index >= kDequeBlock) return found_.torn();
  for (std::uint32_t i = 0; i < count && block != 0; ++i) {
    found_.python(memory_.word(block + kDequeItems + 8 * index), Label::kItem, i);
    if (++index == kDequeBlock) {
      index = 0;
      const Address next = memory_.word(block + kDequeRight);
      // Blocks that are being replaced can form a circle.
      if (next == first || (next != 0 && memory_.word(next) != block)) return found_.torn();
      block = next;
    }
  }
}

bool PythonObjects::context(Address object, const PythonType& type) {
  if (type.name == kContextType) {
    found_.python(memory_.word(object + kContextTree), "");
  } else if (type.name == kTree) {
    found_.python(memory_.word(object + kTreeRoot), "");
  } else if (type.name == kTreeNodes) {
    for (Address i = 0; i < 32; ++i) found_.python(memory_.word(object + kTreeFirstNode + 8 * i), "");
  } else if (type.name == kTreePairs || type.name == kTreeCollision) {
    const Address words = std::min(memory_.word(object + layout_.var_size), kMostPairs);
    for (Address i = 0; i + 1 < words; i += 2) {
      const Address variable = memory_.word(object + kTreeFirstPair + 8 * i);
      const Address value = memory_.word(object + kTreeFirstPair + 8 * (i + 1));
      if (variable == 0) {
        found_.python(value, "");
      } else if (value != 0) {
        found_.python(value, Label::kDictValue, variable);
      }
    }
  } else {
    return false;
  }
  return true;
}

void PythonObjects::pickler(Address object) {
  const Address memo = memory_.word(object + kPicklerMemo);
  items(memory_.word(memo + kMemoTable), memory_.word(memo + kMemoMask) + 1, Label::kSetItem, kMemoEntry);
}

void PythonObjects::function(Address object) {
  found_.python(memory_.word(object + layout_.function_closure), ".__closure__");
  found_.python(memory_.word(object + layout_.function_defaults), ".__defaults__");
  found_.python(memory_.word(object + layout_.function_kwdefaults), ".__kwdefaults__");
  found_.python(memory_.word(object + layout_.function_dict), ".__dict__", 0);
  found_.python(memory_.word(object + layout_.function_globals), ".__globals__", kThroughGlobals);
  found_.python(memory_.word(object + layout_.function_annotations), ".__annotations__", kThroughGlobals);
}

void PythonObjects::lru_cache(Address object, const PythonType& type) {
  bool cache_seen = false;
  for (std::int64_t offset = kLruFirstMember; offset + 8 <= type.basic_size; offset += 8) {
    if (offset == type.dict_offset || offset == type.weak_offset) continue;
    const Address word = memory_.word(object + offset);
    const PythonType* member = types_.python_types.type_of(memory_, word);
    if (member == nullptr || member->kind == Kind::kType) continue;
    const bool is_cache = member->kind == Kind::kDict && !cache_seen;
    cache_seen |= is_cache;
    found_.python(word, is_cache ? " (lru_cache)" : ".__wrapped__");
  }
}

void PythonObjects::exception(Address object, const PythonType& type) {
  found_.python(memory_.word(object + layout_.exception_traceback), ".__traceback__");
  found_.python(memory_.word(object + layout_.exception_args), ".args");
  found_.python(memory_.word(object + layout_.exception_context), ".__context__");
  found_.python(memory_.word(object + layout_.exception_cause), ".__cause__");
  found_.python(memory_.word(object + layout_.exception_dict), ".__dict__", 0);
  words(object, type, layout_.exception_cause + 8);
}

void PythonObjects::module(Address object) {
  found_.python(memory_.word(object + layout_.module_dict), ".__dict__", 0);
  // Since 3.15, a module states the size of its state itself.
  const Address definition = layout_.module_definition < 0 ? object : memory_.word(object + layout_.module_definition);
  const Address state = memory_.word(object + layout_.module_state);
  if (definition == 0 || state == 0) return;
  const auto size = memory_.value<std::int64_t>(definition + layout_.module_state_size);
  for (std::int64_t offset = 0; offset + 8 <= size && size < 65536; offset += 8) {
    found_.python(memory_.word(state + offset), Label::kWord, small(offset), kThroughAGuess);
  }
}

void PythonObjects::type_object(Address object, const PythonType& type) {
  found_.python(memory_.word(object + layout_.tp_dict), ".__dict__", 0);
  found_.python(memory_.word(object + layout_.tp_base), ".__base__", kThroughAFunction);
  found_.python(memory_.word(object + layout_.tp_mro), ".__mro__", kThroughGlobals);
  found_.python(memory_.word(object + layout_.tp_bases), ".__bases__", kThroughGlobals);
  found_.python(memory_.word(object + layout_.tp_cache), " (cache)", kThroughGlobals);
  found_.python(memory_.word(object + layout_.tp_subclasses), ".__subclasses__", kThroughGlobals);
  if (type.basic_size > layout_.heaptype_size) words(object, type, layout_.heaptype_size);
  attributes(object, type);
}

void PythonObjects::members(Address object, const PythonType& type) {
  for (const auto& [offset, name] : type.members) {
    if (!name.empty()) found_.python(memory_.word(object + offset), name);
  }
}

void PythonObjects::attributes(Address object, const PythonType& type) {
  if ((type.flags & layout_.flag_managed_dict) != 0) {
    const Address keys = memory_.word(type.address + layout_.heaptype_cached_keys);
    Address dict = memory_.word(object - kManagedDict);
    if (layout_.is_313_or_later()) {
      const Address inline_values = object + type.basic_size;
      if (dict == 0 && (type.flags & layout_.flag_inline_values) != 0 &&
          memory_.value<std::uint8_t>(inline_values + layout_.values_valid) != 0) {
        values(inline_values + layout_.values_items, keys, Label::kInlineValue);
      }
    } else if (layout_.is_312_or_later()) {
      if ((dict & 1) != 0) {  // the values, tagged
        values(dict + 1 + layout_.values_items, keys, Label::kInlineValue);
        dict = 0;
      }
    } else if (const Address inline_values = memory_.word(object - kManagedValues); inline_values != 0) {
      values(inline_values + layout_.values_items, keys, Label::kInlineValue);
    }
    if (dict != 0) found_.python(dict, ".__dict__", 0);
    return;
  }
  if (type.dict_offset > 0) return found_.python(memory_.word(object + type.dict_offset), ".__dict__", 0);
  if (type.dict_offset == 0 || type.item_size <= 0) return;
  // A negative offset counts from the end of an object with variable size.
  std::int64_t count = std::abs(memory_.value<std::int64_t>(object + layout_.var_size));
  if (type.has_flag(kLongBit) && layout_.is_312_or_later()) count >>= 3;  // digits of an int, after its tag bits
  if (count > (1 << 20)) return found_.torn();
  const std::int64_t end = (type.basic_size + count * type.item_size + 7) & ~std::int64_t{7};
  found_.python(memory_.word(object + end + type.dict_offset), ".__dict__", 0);
}

bool PythonObjects::is_suspended(Address object) {
  const PythonType* type = types_.python_types.type_of(memory_, object);
  return type != nullptr && type->kind == Kind::kGenerator;
}

void PythonObjects::words(Address object, const PythonType& type, std::int64_t from) {
  std::int64_t size = type.basic_size;
  if (type.item_size > 0) {
    const std::int64_t count = std::abs(memory_.value<std::int64_t>(object + layout_.var_size));
    if (count < kMostItems && memory_.at(object, size + count * type.item_size) != nullptr)
      size += count * type.item_size;
  }
  const std::byte* all = memory_.at(object, static_cast<std::size_t>(size));
  if (all == nullptr) return;
  for (std::int64_t offset = from & ~std::int64_t{7}; offset + 8 <= size; offset += 8) {
    if (offset == type.weak_offset || offset == type.dict_offset) continue;
    Address word = 0;
    std::memcpy(&word, all + offset, 8);
    if (word < 65536 || (word & 7) != 0) continue;
    const auto member = std::ranges::find(type.members, offset, &KnownMember::offset);
    if (member != type.members.end() && member->name.empty()) continue;
    const std::size_t before = found_.count();
    if (member != type.members.end()) {
      found_.python(word, member->name);
    } else if (type.name == kTask && is_suspended(word)) {
      found_.python(word, " (coroutine)");  // versions of Python have it at other offsets
    } else {
      found_.python(word, Label::kWord, small(offset), kThroughAGuess);
    }
    if (found_.count() == before) found_.cpp(word, Label::kWord, small(offset), kThroughAGuess);
  }
}

}  // namespace dcmt::scan
