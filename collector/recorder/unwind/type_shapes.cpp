#include "collector/recorder/unwind/type_shapes.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace dcmt::recorder {
namespace {

using scan::CppShape;
using scan::KeyForm;
using scan::Role;
using scan::ShapeForm;
using scan::ShapeIndex;

/// Limits: of shapes, and of types that lead to each other.
constexpr std::size_t kMostShapes = 1 << 16;
constexpr std::size_t kDeepestType = 200;
constexpr std::uint64_t kAddressBytes = 8;

/// Names of members of libstdc++.
bool is_reserved(std::string_view name) { return name.starts_with('_'); }

/// Torch's own objects, which the decoders of references read by their own layout.
bool is_object_of_torch(std::string_view name) {
  return name == "TensorImpl" || name == "StorageImpl" || name == "Node";
}

constexpr std::array<std::string_view, 7> kOptimizers = {"Optimizer", "SGD",     "Adam", "AdamW",
                                                         "Adagrad",   "RMSprop", "LBFGS"};

bool is_any_of(std::string_view name, const auto& beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view each) { return name.starts_with(each); });
}

}  // namespace

ShapeIndex TypeShapes::of(const DebugInfo& info, std::uint64_t type) {
  const std::size_t before = shapes_.all.size();
  const ShapeIndex index = add(info, type);
  if (shapes_.all.size() != before) {
    settle(before);
    shared_.reset();
  }
  return shapes_.all[index].form == ShapeForm::kNothing ? 0 : index;
}

void TypeShapes::add_functor(const DebugInfo& info, std::uint64_t type, scan::Address manager) {
  const ShapeIndex index = of(info, type);
  if (index == 0) return;
  shapes_.functors[manager] = index;
  shared_.reset();
}

std::shared_ptr<const scan::CppShapes> TypeShapes::all() {
  if (shared_ == nullptr) shared_ = std::make_shared<const scan::CppShapes>(shapes_);
  return shared_;
}

ShapeIndex TypeShapes::add(const DebugInfo& info, std::uint64_t offset) {
  if (offset == 0 || shapes_.all.size() >= kMostShapes || depth_ >= kDeepestType) return 0;
  const TypeEntry type = info.type_at(offset);
  if (type.at == 0) return 0;
  const auto [known, is_new] = known_.try_emplace({&info, type.at}, static_cast<ShapeIndex>(shapes_.all.size()));
  if (!is_new) return known->second;
  const ShapeIndex index = known->second;
  shapes_.all.emplace_back();  // a type can lead to itself
  ++depth_;
  CppShape shape = shape_of(info, type);
  --depth_;
  shapes_.all[index] = std::move(shape);
  return index;
}

CppShape TypeShapes::shape_of(const DebugInfo& info, const TypeEntry& type) {
  CppShape shape;
  shape.name = type.name.substr(0, type.name.find('<'));
  shape.bytes = type.bytes;
  switch (type.is) {
    case Is::kPointer:
    case Is::kReference:
      shape.form = ShapeForm::kPointer;
      shape.owns = false;
      shape.element = add(info, type.type);
      break;
    case Is::kArray: {
      const TypeEntry element = info.type_at(type.type);
      entries(info, type.type, ShapeForm::kArray, shape);
      shape.stride = element.bytes;
      break;
    }
    case Is::kClass:
      if (!is_known(info, type, shape)) add_members(info, type, shape);
      break;
    case Is::kDeclared:
      if (std::ranges::find(kOptimizers, type.name) != kOptimizers.end()) return shapes_.all[optimizer_];
      if (type.name == "Module" || type.name.ends_with("Impl")) return shapes_.all[module_];
      break;
    default:
      break;
  }
  return shape;
}

/// True if the class is one of the standard library's or of torch's, whose layout is known.
bool TypeShapes::is_known(const DebugInfo& info, const TypeEntry& type, CppShape& shape) {
  // What these point to has another owner.
  constexpr std::array<std::string_view, 5> kNotOwners = {"weak_ptr<", "weak_intrusive_ptr<", "__weak_ptr<",
                                                          "enable_shared_from_this<", "basic_string<"};
  if (is_any_of(type.name, kNotOwners)) return true;
  return is_pointer(info, type, shape) || is_container(info, type, shape) || is_of_torch(info, type, shape);
}

bool TypeShapes::is_pointer(const DebugInfo& info, const TypeEntry& type, CppShape& shape) {
  const bool is_shared = type.name.starts_with("shared_ptr<") && type.base(info, "__shared_ptr<") != nullptr;
  const bool is_unique = type.name.starts_with("unique_ptr<") && type.member("_M_t") != nullptr;
  const bool is_intrusive = type.name.starts_with("intrusive_ptr<") && type.member("target_") != nullptr;
  if ((!is_shared && !is_unique && !is_intrusive) || type.parameters.empty()) return false;
  // A deleter with state comes before the pointer.
  if (is_unique && type.bytes != kAddressBytes) return true;
  const TypeEntry to = info.type_at(type.parameters.front());
  if (!is_unique && is_object_of_torch(to.name)) {
    shape.form = ShapeForm::kObject;
    return true;
  }
  if (to.is != Is::kClass && to.is != Is::kDeclared) return true;  // of an array nothing says how long it is
  shape.form = ShapeForm::kPointer;
  shape.element = add(info, to.at);
  return true;
}

bool TypeShapes::is_container(const DebugInfo& info, const TypeEntry& type, CppShape& shape) {
  const auto named = [&](std::string_view beginning) { return type.name.starts_with(beginning); };
  const auto inner = [&](std::string_view member, std::string_view beginning) {
    const TypeEntry::Member* const found = type.member(member);
    const TypeEntry of = found != nullptr ? info.type_at(found->type) : TypeEntry();
    return of.name.starts_with(beginning) && of.parameters.size() > 1 ? of : TypeEntry();
  };
  const std::uint64_t first = type.parameters.empty() ? 0 : type.parameters.front();
  if (named("vector<") && type.base(info, "_Vector_base<") != nullptr) {
    entries(info, first, ShapeForm::kVector, shape);
  } else if (named("deque<") && type.base(info, "_Deque_base<") != nullptr) {
    entries(info, first, ShapeForm::kDeque, shape);
  } else if (named("list<") && type.base(info, "_List_base<") != nullptr) {
    entries(info, first, ShapeForm::kList, shape);
  } else if (const TypeEntry tree = inner("_M_t", "_Rb_tree<"); tree.at != 0) {
    pairs(info, tree.parameters[1], ShapeForm::kTree, shape);
  } else if (const TypeEntry table = inner("_M_h", "_Hashtable<"); table.at != 0) {
    pairs(info, table.parameters[1], ShapeForm::kHash, shape);
  } else if (named("optional<") && type.base(info, "_Optional_base<") != nullptr) {
    shape.form = ShapeForm::kOptional;
    shape.element = add(info, first);
    shape.at = info.type_at(first).bytes;
  } else {
    return false;
  }
  return true;
}

bool TypeShapes::is_of_torch(const DebugInfo& info, const TypeEntry& type, CppShape& shape) {
  if (type.name.starts_with("function<") && type.base(info, "_Function_base") != nullptr) {
    shape.form = ShapeForm::kFunction;
  } else if (type.name == "IValue" && type.member("payload") != nullptr && type.member("tag") != nullptr) {
    shape.form = ShapeForm::kValue;
  } else if (const auto* items = type.member("items_"); type.name.starts_with("OrderedDict<") && items != nullptr) {
    const TypeEntry vector = info.type_at(items->type);
    const TypeEntry item = vector.parameters.empty() ? TypeEntry() : info.type_at(vector.parameters.front());
    const TypeEntry::Member* const pair = item.member("pair_");
    if (pair == nullptr) return true;
    pairs(info, pair->type, ShapeForm::kVector, shape);
    shape.at = items->offset;
    shape.stride = item.bytes;
    shape.key_at += pair->offset;
    shape.value_at += pair->offset;
  } else if (const auto* slots = type.member("entries"); type.name.starts_with("sherwood_v3_table<")) {
    const auto *last = type.member("num_slots_minus_one"), *probes = type.member("max_lookups");
    if (slots == nullptr || last == nullptr || probes == nullptr || type.parameters.empty()) return true;
    const TypeEntry slot = info.type_at(info.type_at(slots->type).type);
    pairs(info, type.parameters.front(), ShapeForm::kFlatHash, shape);
    // A slot: a number, and a value at the next place where it can be.
    shape.at = slots->offset;
    shape.last_slot_at = last->offset;
    shape.probes_at = probes->offset;
    shape.stride = slot.bytes;
    shape.key_at += kAddressBytes;
    shape.value_at += kAddressBytes;
  } else {
    return false;
  }
  return true;
}

void TypeShapes::add_members(const DebugInfo& info, const TypeEntry& type, CppShape& shape) {
  shape.form = ShapeForm::kClass;
  const bool is_list = type.name == "ListImpl";
  for (const TypeEntry::Member& each : type.members) {
    const TypeEntry of = info.type_at(each.type);
    const bool refers = of.is == Is::kPointer || of.is == Is::kReference;
    const bool is_captured = type.name.empty() && each.name.starts_with("__");
    if (refers && is_reserved(each.name) && !is_captured) continue;  // a part of a container that is not known
    const ShapeIndex inner = add(info, each.type);
    if (inner == 0) continue;
    const bool is_hidden =
        each.is_base || is_reserved(each.name) || each.name == "impl_" || (is_list && each.name == "list");
    std::string label = is_captured ? "." + std::string(each.name.substr(2))
                        : is_hidden ? ""
                                    : "." + std::string(each.name);
    shape.members.push_back({each.offset, inner, std::move(label)});
  }
}

void TypeShapes::entries(const DebugInfo& info, std::uint64_t type, ShapeForm form, CppShape& shape) {
  shape.form = form;
  shape.element = add(info, type);
  shape.stride = info.type_at(type).bytes;
}

void TypeShapes::pairs(const DebugInfo& info, std::uint64_t pair, ShapeForm form, CppShape& shape) {
  const TypeEntry entry = info.type_at(pair);
  const Item item = item_of(info, entry);
  shape.form = form;
  shape.stride = entry.bytes;
  shape.key = item.key;
  shape.key_at = item.key_at;
  shape.key_bytes = item.key_bytes;
  shape.value_at = item.value_at;
  shape.element = add(info, item.value);
}

/// Of an entry of a map; the entry of a set is its own value.
TypeShapes::Item TypeShapes::item_of(const DebugInfo& info, const TypeEntry& pair) const {
  const TypeEntry::Member *const first = pair.member("first"), *const second = pair.member("second");
  Item item;
  item.value = pair.at;
  if (!pair.name.starts_with("pair<") || first == nullptr || second == nullptr) return item;
  const TypeEntry key = info.type_at(first->type);
  item.key_at = first->offset;
  item.key_bytes = key.bytes;
  item.value_at = second->offset;
  item.value = second->type;
  if (key.name.starts_with("basic_string<char,")) item.key = KeyForm::kText;
  if (key.is == Is::kSigned) item.key = KeyForm::kSigned;
  if (key.is == Is::kUnsigned) item.key = KeyForm::kUnsigned;
  return item;
}

void TypeShapes::add_classes_of_torch() {
  const auto added = [this](CppShape shape) {
    shapes_.all.push_back(std::move(shape));
    return static_cast<ShapeIndex>(shapes_.all.size() - 1);
  };
  const ShapeIndex tensor = added({.form = ShapeForm::kObject, .name = "Tensor", .bytes = 8});
  // An OrderedDict has an index, 56 bytes, then a std::vector of pairs. A key is a std::string of 32 bytes.
  const auto dict = [](Role role, ShapeIndex element, std::uint64_t stride) {
    return CppShape{.form = ShapeForm::kVector,
                    .role = role,
                    .is_attributes = true,
                    .name = "OrderedDict",
                    .bytes = 112,
                    .at = 56,
                    .element = element,
                    .stride = stride,
                    .value_at = 32,
                    .key = KeyForm::kText};
  };
  const ShapeIndex parameters = added(dict(Role::kParameter, tensor, 40));
  const ShapeIndex buffers = added(dict(Role::kBuffer, tensor, 40));
  const ShapeIndex child = added({.form = ShapeForm::kPointer, .name = "shared_ptr", .bytes = 16});
  const ShapeIndex children = added(dict(Role::kNone, child, 48));
  // Behind the virtual table and a std::weak_ptr.
  module_ = added({.form = ShapeForm::kClass,
                   .is = scan::TorchClass::kModule,
                   .name = "Module",
                   .bytes = 408,
                   .members = {{24, parameters, ""}, {136, buffers, ""}, {248, children, ""}}});
  shapes_.all[child].element = module_;

  const ShapeIndex function = added({.form = ShapeForm::kFunction, .name = "function", .bytes = 32});
  shapes_.hooks = added({.form = ShapeForm::kVector, .name = "vector", .bytes = 24, .element = function, .stride = 32});

  const ShapeIndex updated = added({.form = ShapeForm::kVector,
                                    .role = Role::kParameter,
                                    .name = "vector",
                                    .bytes = 24,
                                    .element = tensor,
                                    .stride = 8});
  const ShapeIndex group = added(
      {.form = ShapeForm::kClass, .name = "OptimizerParamGroup", .bytes = 32, .members = {{0, updated, ".params"}}});
  const ShapeIndex groups =
      added({.form = ShapeForm::kVector, .name = "vector", .bytes = 24, .element = group, .stride = 32});
  const ShapeIndex state =
      added({.form = ShapeForm::kClass, .role = Role::kOptimizerState, .name = "OptimizerParamState", .bytes = 8});
  const ShapeIndex to_state = added({.form = ShapeForm::kPointer, .name = "unique_ptr", .bytes = 8, .element = state});
  const ShapeIndex states = added({.form = ShapeForm::kFlatHash,
                                   .name = "flat_hash_map",
                                   .bytes = 32,
                                   .element = to_state,
                                   .stride = 24,
                                   .value_at = 16,
                                   .last_slot_at = 8,
                                   .probes_at = 17});
  optimizer_ = added({.form = ShapeForm::kClass,
                      .is = scan::TorchClass::kOptimizer,
                      .name = "Optimizer",
                      .bytes = 72,
                      .members = {{8, groups, ".param_groups"}, {32, states, ".state"}}});
}

/// Leaves out what leads to no tensor, and classes that only wrap another one.
void TypeShapes::settle(std::size_t first) {
  std::vector<bool> leads(shapes_.all.size());
  const auto leads_now = [&](const CppShape& shape) {
    switch (shape.form) {
      case ShapeForm::kNothing:
        return false;
      case ShapeForm::kObject:
      case ShapeForm::kValue:
      case ShapeForm::kFunction:
        return true;
      case ShapeForm::kClass:
        return shape.role == Role::kOptimizerState ||
               std::ranges::any_of(shape.members, [&](const scan::CppMember& each) { return leads[each.shape]; });
      default:
        return bool{leads[shape.element]};
    }
  };
  for (std::size_t i = 0; i < first; ++i) leads[i] = shapes_.all[i].form != ShapeForm::kNothing;
  for (bool changes = true; changes;) {
    changes = false;
    for (std::size_t i = shapes_.all.size(); i-- > first;) {
      if (leads[i] || !leads_now(shapes_.all[i])) continue;
      leads[i] = changes = true;
    }
  }
  for (std::size_t i = first; i < shapes_.all.size(); ++i) {
    CppShape& shape = shapes_.all[i];
    if (!leads[i]) shape = {};
    std::erase_if(shape.members, [&](const scan::CppMember& each) { return !leads[each.shape]; });
  }
  const auto wraps = [&](const CppShape& shape) {
    return shape.form == ShapeForm::kClass && shape.is == scan::TorchClass::kNone && shape.members.size() == 1 &&
           shape.members[0].offset == 0 && shape.members[0].label.empty();
  };
  for (std::size_t i = first; i < shapes_.all.size(); ++i) {
    for (std::size_t steps = 0; wraps(shapes_.all[i]) && steps < kDeepestType; ++steps) {
      const CppShape inner = shapes_.all[shapes_.all[i].members[0].shape];
      shapes_.all[i] = inner;
    }
  }
  // A pointer to a variable that is a tensor is no holder.
  for (std::size_t i = first; i < shapes_.all.size(); ++i) {
    const CppShape& shape = shapes_.all[i];
    const bool is_borrowed = shape.form == ShapeForm::kPointer && !shape.owns;
    const CppShape& to = shapes_.all[shape.element];
    if (is_borrowed && to.form != ShapeForm::kClass && !to.is_container()) shapes_.all[i] = {};
  }
}

}  // namespace dcmt::recorder
