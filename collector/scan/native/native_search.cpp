#include "collector/scan/native/native_search.h"

#include <algorithm>

namespace dcmt::scan {
namespace {

/// Limit of objects between a storage and its holder.
constexpr int kDeepest = 16;
constexpr std::size_t kMostObjects = 20'000;
/// Limit for one object: most pointers are stale, in freed memory.
constexpr std::size_t kMostPointers = 256;
constexpr Address kLargestObject = Address{64} << 20;

constexpr Address kReferenceCount = 8;
constexpr std::uint32_t kMostReferences = 1'000'000;

/// "Session", also for the control block of a std::shared_ptr to one.
std::string class_of(const CppType& type) {
  constexpr std::string_view kControlBlock = "std::_Sp_counted_";
  if (!type.name.starts_with(kControlBlock)) return type.short_name;
  const std::size_t begin = type.name.find('<') + 1;
  const std::string shared = type.name.substr(begin, type.name.find_first_of(",<>*", begin) - begin);
  const std::size_t scope = shared.rfind("::");
  return scope == std::string::npos ? shared : shared.substr(scope + 2);
}

/// True if a word at this offset of such an object can be something that it keeps in C++: pybind11's value and the two
/// words of its std::shared_ptr, or a member of torch's objects. All references of other kinds are decoded, and a word
/// elsewhere in an object that is not decoded can be anything.
bool can_keep(Kind kind, Address offset) {
  constexpr Address kFirst = 16, kLast = 32;
  return (kind == Kind::kObject || kind == Kind::kCapsule || kind == Kind::kPythonTensor ||
          kind == Kind::kPythonStorage || kind == Kind::kPythonFunction) &&
         kFirst <= offset && offset <= kLast;
}

/// An allocator has the addresses of all memory, but keeps no tensor.
bool is_allocator(std::string_view root) { return root.find("Allocator") != std::string_view::npos; }

}  // namespace

NativeSearch::NativeSearch(Mirror& memory, ProcessTypes& types, const Graph& graph, Paths& paths, Address runtime,
                           std::span<const CppVariable> variables, SearchedMemory found)
    : memory_(memory),
      types_(types),
      graph_(graph),
      paths_(paths),
      thread_locals_(memory, types.python, runtime),
      libraries_(memory.source()),
      variables_(variables, memory),
      found_(std::move(found)) {
  const std::vector<GraphNode>& nodes = graph.nodes();
  for (NodeIndex node = 1; node < nodes.size(); ++node) {
    if (!is_python_object(nodes[node].kind) || !graph.is_rooted(node)) continue;
    // A static type is smaller than its own type says, and the library's other variables follow it.
    if (nodes[node].kind == Kind::kType && libraries_.has(nodes[node].address)) continue;
    python_objects_.emplace_back(nodes[node].address, node);
  }
  std::ranges::sort(python_objects_);
  for (const Address tensor : found_.tensors) {
    if (is_alive(tensor)) tensors_[memory_.word(tensor + types_.torch.tensor_storage)].push_back(tensor);
  }
}

bool NativeSearch::is_alive(Address object) {
  const std::optional<Range> piece = found_.heap.containing(object);
  const auto references = memory_.value<std::uint32_t>(object + kReferenceCount);
  return piece && piece->begin == object && references > 0 && references < kMostReferences;
}

std::vector<Address> NativeSearch::unseen_storages(std::uint64_t smallest) {
  std::vector<Address> unseen;
  std::ranges::copy_if(found_.storages, std::back_inserter(unseen), [&](Address storage) {
    return is_alive(storage) && graph_.find(storage, Kind::kStorage) == 0 &&
           memory_.word(storage + types_.torch.storage_data) != 0 &&
           memory_.word(storage + types_.torch.storage_bytes) >= smallest;
  });
  return unseen;
}

NativeSearch::ObjectIndex NativeSearch::object_at(Range range) {
  const auto [known, is_new] = by_begin_.try_emplace(range.begin, static_cast<ObjectIndex>(objects_.size()));
  if (is_new) objects_.push_back({range, {}});
  return known->second;
}

/// The Python object whose own memory contains the address; kRootNode if none does.
NodeIndex NativeSearch::python_object_at(Address place) {
  const auto after = std::ranges::upper_bound(python_objects_, place, {}, &std::pair<Address, NodeIndex>::first);
  if (after == python_objects_.begin()) return kRootNode;
  const auto& [address, node] = *(after - 1);
  const PythonType* type = types_.python_types.type_of(memory_, address);
  return type != nullptr && place < address + static_cast<Address>(type->basic_size) ? node : kRootNode;
}

/// The name of a pointer's address that is a root; empty if the address keeps nothing.
const std::string& NativeSearch::root_at(Address place) {
  const auto [found, is_new] = roots_.try_emplace(place);
  if (!is_new) return found->second;
  std::string root;
  if (const NodeIndex node = python_object_at(place); node != kRootNode) {
    root = paths_.text_of(paths_.way_to(node));
  } else if (const CppVariable* variable = variables_.at(place); variable != nullptr) {
    root = variable->path;
  } else {
    root = libraries_.has(place) ? libraries_.name_of(place) : thread_locals_.at(place).value_or("");
  }
  if (!is_allocator(root)) found->second = std::move(root);
  return found->second;
}

void NativeSearch::add_pointer(ObjectIndex object, Address place) {
  if (objects_[object].pointers.size() >= kMostPointers) return;
  const NodeIndex object_of_python = python_object_at(place);
  if (object_of_python != kRootNode) {
    const GraphNode& node = graph_.nodes()[object_of_python];
    if (!can_keep(node.kind, place - node.address)) return;
  }
  if (object_of_python != kRootNode || variables_.at(place) != nullptr || libraries_.has(place) ||
      thread_locals_.at(place)) {
    objects_[object].pointers.push_back({place, true, 0});
    return;
  }
  const std::optional<Range> piece = found_.heap.containing(place);
  if (!piece || piece->begin == objects_[object].range.begin || piece->end - piece->begin > kLargestObject) return;
  if (objects_.size() >= kMostObjects) return;
  const ObjectIndex holder = object_at(*piece);
  objects_[object].pointers.push_back({place, false, holder});
}

/// Finds the words with addresses of the objects from index `first` on.
void NativeSearch::find_pointers(std::size_t first) {
  std::vector<std::pair<Address, ObjectIndex>> targets;
  for (std::size_t i = first; i < objects_.size(); ++i) {
    targets.emplace_back(objects_[i].range.begin, static_cast<ObjectIndex>(i));
  }
  std::ranges::sort(targets);
  found_.pointers.each_to<ObjectIndex>(targets, [&](Address place, ObjectIndex object) { add_pointer(object, place); });
}

void NativeSearch::search(const std::vector<Address>& storages) {
  for (const Address storage : storages) {
    std::vector<ObjectIndex>& own = of_storage_[storage];
    own.push_back(object_at({storage, storage + 1}));
    for (const Address tensor : tensors_[storage]) own.push_back(object_at({tensor, tensor + 1}));
  }
  std::size_t first = 0;
  for (int depth = 0; depth < kDeepest && first < objects_.size(); ++depth) {
    const std::size_t end = objects_.size();
    find_pointers(first);
    first = end;
    Mirror now(memory_.source());
    Proof proof = proof_by(now);
    if (std::ranges::all_of(storages, [&](Address storage) { return is_proved(storage, proof); })) return;
  }
}

Proof NativeSearch::proof_by(Mirror& fresh) {
  return {objects_, References(fresh, types_.cpp_types, found_.heap), [this](Address place) { return root_at(place); }};
}

bool NativeSearch::is_proved(Address storage, Proof& proof) const {
  const auto own = of_storage_.find(storage);
  return own != of_storage_.end() &&
         std::ranges::any_of(own->second, [&](ObjectIndex object) { return proof.proves(object); });
}

/// Pointers from a storage to a root, beginning at the storage.
struct NativeSearch::Way {
  std::vector<std::pair<ObjectIndex, const NativeObject::Pointer*>> steps;
};

/// Visits paths from a storage to its roots through objects for which `counts` is true, shorter ones first, until
/// `visit` returns false.
template <class Counts, class Visit>
void NativeSearch::each_way(Address storage, const Proof& proof, Counts counts, Visit visit) const {
  struct Step {
    ObjectIndex object;
    std::size_t before;  ///< index into `steps`; the first one has its own
    const NativeObject::Pointer* pointer;
  };
  const auto own = of_storage_.find(storage);
  if (own == of_storage_.end()) return;
  std::vector<Step> steps;
  std::vector<bool> met(objects_.size());
  for (const ObjectIndex object : own->second) {
    if (!counts(object)) continue;
    steps.push_back({object, steps.size(), nullptr});
    met[object] = true;
  }
  for (std::size_t at = 0; at < steps.size(); ++at) {
    for (const NativeObject::Pointer* pointer : proof.references_to(steps[at].object)) {
      if (pointer->is_root) {
        Way way;
        way.steps.emplace_back(steps[at].object, pointer);
        for (std::size_t back = at; steps[back].pointer != nullptr; back = steps[back].before)
          way.steps.emplace_back(steps[steps[back].before].object, steps[back].pointer);
        std::ranges::reverse(way.steps);
        if (!visit(way)) return;
      } else if (!met[pointer->holder] && counts(pointer->holder)) {
        met[pointer->holder] = true;
        steps.push_back({pointer->holder, at, pointer});
      }
    }
  }
}

std::vector<NativeHolder> NativeSearch::holders_of(Address storage, std::size_t limit, Proof& proof,
                                                   SecondReading& second) {
  std::vector<NativeHolder> holders;
  const auto add = [&](const Way& way) {
    const Address root = way.steps.back().second->place;
    const CppVariable* const variable = variables_.at(root);
    NativeHolder holder{root_at(root), variable != nullptr ? variable->place : "", true, false};
    const NodeIndex object_of_python = python_object_at(root);
    // Another object may be at the address by now: the word is then no reference of the named object.
    if (object_of_python != kRootNode) holder.confirmed = second.confirms(paths_.way_to(object_of_python));
    bool has_class = false;
    for (auto step = way.steps.rbegin(); step != way.steps.rend(); ++step) {
      const Range& range = objects_[step->first].range;
      const CppType* type = types_.cpp_types.type_of(memory_, range.begin);
      if (type == nullptr || type->kind != Kind::kCppObject) continue;
      holder.path += " → " + class_of(*type);
      has_class = true;
    }
    if (variable != nullptr && !variable->is_tensor && !has_class) holder.path += "[*]";
    // Otherwise the text would look like a Python variable that is the tensor.
    if (object_of_python != kRootNode && !has_class) holder.path += " → C++ memory";
    holder.proved =
        holder.confirmed && std::ranges::all_of(way.steps, [&](const auto& step) { return proof.proves(step.first); });
    if (std::ranges::find(holders, holder.path, &NativeHolder::path) == holders.end())
      holders.push_back(std::move(holder));
    return holders.size() < limit;
  };
  // Only one way leads through each object: a shorter one through a stale word would hide the proved one.
  each_way(
      storage, proof, [&](ObjectIndex object) { return proof.proves(object); }, add);
  each_way(
      storage, proof, [](ObjectIndex) { return true; }, add);
  std::ranges::stable_partition(holders, &NativeHolder::confirmed);
  return holders;
}

}  // namespace dcmt::scan
