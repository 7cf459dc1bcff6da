#include "collector/scan/objects/python_types.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace dcmt::scan {
namespace {

constexpr std::size_t kLongestName = 200;
constexpr std::int64_t kLargestBasicSize = 1 << 20;
constexpr int kDeepestBases = 20;

// struct PyMemberDef: name, type, offset, flags, doc.
constexpr Address kMemberSize = 40;
constexpr int kMemberObject = 6;     // Py_T_OBJECT
constexpr int kMemberObjectEx = 16;  // Py_T_OBJECT_EX

const std::map<std::string, Kind, std::less<>>& kinds_by_name() {
  static const std::map<std::string, Kind, std::less<>> kinds = {
      {"set", Kind::kSet},
      {"frozenset", Kind::kSet},
      {"collections.deque", Kind::kDeque},
      {"cell", Kind::kCell},
      {"function", Kind::kFunction},
      {"method", Kind::kMethod},
      {"functools.partial", Kind::kPartial},
      {"functools._lru_cache_wrapper", Kind::kLruCache},
      {"functools._lru_list_elem", Kind::kLruLink},
      {"itertools._tee_dataobject", Kind::kTeeBlock},
      {"generator", Kind::kGenerator},
      {"coroutine", Kind::kGenerator},
      {"async_generator", Kind::kGenerator},
      {"frame", Kind::kFrameObject},
      {"traceback", Kind::kTraceback},
      {"module", Kind::kModule},
      {"code", Kind::kCode},
      {"PyCapsule", Kind::kCapsule},
      {"weakref", Kind::kWeakReference},
      {"weakref.ReferenceType", Kind::kWeakReference},
      {"weakproxy", Kind::kWeakReference},
      {"torch._C.TensorBase", Kind::kPythonTensor},
      {"torch._C._TensorBase", Kind::kPythonTensor},
      {"torch._C.StorageBase", Kind::kPythonStorage},
      {"THPFunction", Kind::kPythonFunction},
      {"torch._C._FunctionBase", Kind::kPythonFunction},
  };
  return kinds;
}

bool refers_to_nothing(const std::string& name) {
  static const std::set<std::string, std::less<>> leaves = {"float",
                                                            "complex",
                                                            "NoneType",
                                                            "bool",
                                                            "ellipsis",
                                                            "range",
                                                            "torch.dtype",
                                                            "torch.device",
                                                            "code",
                                                            "torch.layout",
                                                            "torch.memory_format",
                                                            "NotImplementedType",
                                                            "re.Pattern",
                                                            "datetime.datetime"};
  return leaves.contains(name);
}

}  // namespace

const PythonType* PythonTypes::type_of(Mirror& memory, Address object) {
  if (!can_be_object(object)) return nullptr;
  const std::byte* head = memory.at(object, 16);
  if (head == nullptr) return nullptr;
  std::uint32_t references = 0;  // since 3.14, flags follow
  Address type = 0;
  std::memcpy(&references, head, sizeof references);
  std::memcpy(&type, head + 8, 8);
  if (type == 0 || references == 0) return nullptr;
  return type_at(memory, type);
}

void PythonTypes::forget_misses() {
  std::erase_if(types_, [](const auto& entry) { return entry.second == nullptr; });
}

const PythonType* PythonTypes::type_at(Mirror& memory, Address address, int depth) {
  if (const auto found = types_.find(address); found != types_.end()) return found->second.get();
  if ((address & 7) != 0 || depth > 5 || memory.at(address, static_cast<std::size_t>(layout_.type_size)) == nullptr) {
    types_[address] = nullptr;
    return nullptr;
  }
  // The type of a type must be a type, up to `type` itself.
  const Address meta = memory.word(address + 8);
  if (meta != address) {
    types_[address] = nullptr;
    if (type_at(memory, meta, depth + 1) == nullptr) return nullptr;
    if ((memory.word(meta + layout_.tp_flags) >> kTypeBit & 1) == 0) return nullptr;
  }
  auto type = std::make_unique<PythonType>();
  type->address = address;
  type->name = memory.text(memory.word(address + layout_.tp_name), kLongestName);
  type->basic_size = memory.value<std::int64_t>(address + layout_.tp_basicsize);
  for (const char letter : type->name) {
    if (static_cast<unsigned char>(letter) < 32) return nullptr;
  }
  if (type->name.empty() || type->basic_size < 16 || type->basic_size >= kLargestBasicSize) return nullptr;
  type->item_size = memory.value<std::int64_t>(address + layout_.tp_itemsize);
  type->flags = memory.word(address + layout_.tp_flags);
  type->dict_offset = memory.value<std::int64_t>(address + layout_.tp_dictoffset);
  type->weak_offset = memory.value<std::int64_t>(address + layout_.tp_weaklistoffset);
  classify(memory, *type);
  return (types_[address] = std::move(type)).get();
}

void PythonTypes::classify(Mirror& memory, PythonType& type) {
  if (type.has_flag(kListBit)) {
    type.kind = Kind::kList;
  } else if (type.has_flag(kTupleBit)) {
    type.kind = Kind::kTuple;
  } else if (type.has_flag(kDictBit)) {
    type.kind = Kind::kDict;
  } else if (type.has_flag(kExceptionBit)) {
    type.kind = Kind::kException;
  } else if (type.has_flag(kTypeBit)) {
    type.kind = Kind::kType;
  }
  Address base = type.address;
  for (int depth = 0; base != 0 && depth < kDeepestBases; ++depth, base = memory.word(base + layout_.tp_base)) {
    const std::string name = memory.text(memory.word(base + layout_.tp_name), kLongestName);
    if (type.kind == Kind::kObject) {
      const auto kind = kinds_by_name().find(name);
      if (kind != kinds_by_name().end()) type.kind = kind->second;
    }
    const auto add = [&](KnownMember member) {
      const auto same = [&](const KnownMember& other) { return other.offset == member.offset; };
      if (std::ranges::none_of(type.members, same)) type.members.push_back(std::move(member));
    };
    for (KnownMember& member : known_members(name)) add(std::move(member));
    Address member = memory.word(base + layout_.tp_members);
    for (int i = 0; member != 0 && i < 200; ++i, member += kMemberSize) {
      const Address member_name = memory.word(member);
      if (member_name == 0) break;
      const int member_type = memory.value<int>(member + 8);
      if (member_type != kMemberObject && member_type != kMemberObjectEx) continue;
      add({memory.value<std::int64_t>(member + 16), "." + memory.text(member_name, 80)});
    }
  }
  const bool has_dict =
      type.has_flag(kHeapTypeBit) && (type.dict_offset != 0 || (type.flags & layout_.flag_managed_dict) != 0);
  const bool number_or_text = type.has_flag(kLongBit) || type.has_flag(kBytesBit) || type.has_flag(kUnicodeBit);
  type.leaf =
      !has_dict && (number_or_text || (type.basic_size <= 16 && type.kind == Kind::kObject && type.item_size == 0));
  if (refers_to_nothing(type.name)) type.leaf = true;
  // The fields of a subclass are its own matter.
  if (type.kind == Kind::kObject && type.name == "numpy.ndarray") type.kind = Kind::kArray;
}

}  // namespace dcmt::scan
