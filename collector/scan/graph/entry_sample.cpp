#include "collector/scan/graph/entry_sample.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "collector/scan/objects/numpy_array.h"

namespace dcmt::scan {
namespace {

/// The sample grows until the standard error of the mean is this share of it.
constexpr std::size_t kFewest = 16, kMost = 256;
constexpr double kError = 0.02;
/// Where pages are examined, the sample has this many entries: the standard error of a share is at most 2 %.
constexpr std::size_t kForPages = 1000;
/// Limits for what one entry leads to: objects, and references of one object that are followed.
constexpr std::size_t kMostObjects = 2000, kMostReferences = 64;
/// Smaller shares of an object do not count: a constant, or what all parts of a program use.
constexpr double kLeastShare = 1e-3;
/// A collection in an entry is read up to this length.
constexpr std::uint64_t kLongestInEntry = 1 << 16;
/// Through the globals of a function, or a module, an entry would lead to everything.
constexpr std::uint8_t kDearest = 5;
/// Tries to find an entry in a table that has empty places.
constexpr int kTries = 64;
constexpr std::size_t kMostParts = 3;
/// A part with a smaller share of the bytes is not named.
constexpr double kLeastPart = 0.05;
constexpr Address kFurthestFrame = 256;
constexpr Address kDictUsed = 16;
constexpr Address kDequeFirstBlock = 24, kDequeLastBlock = 32, kDequeFirstIndex = 40, kDequeLastIndex = 48;
constexpr Address kDequeItems = 8, kDequeRight = 520;
constexpr std::uint64_t kDequeBlockItems = 64;
constexpr std::uint64_t kMostDequeBlocks = 8;  ///< at each end

/// Types, modules and code belong to no entry. Objects of C++ have no layout.
bool belongs_elsewhere(Kind kind) {
  return kind == Kind::kType || kind == Kind::kModule || kind == Kind::kCode ||
         (!is_python_object(kind) && kind != Kind::kFrame);
}

/// The frame of a function that runs lies on a thread's stack; else in its generator, or in its frame object.
bool is_inside(Address frame, Address object) { return frame > object && frame - object < kFurthestFrame; }

bool is_tensor(Kind kind) { return kind == Kind::kPythonTensor || kind == Kind::kPythonStorage; }

}  // namespace

std::uint64_t entries_of(Address object, Kind kind, Mirror& memory, ProcessTypes& types) {
  const PythonLayout& layout = types.python;
  switch (kind) {
    case Kind::kDict:
      return memory.word(object + kDictUsed);
    case Kind::kSet:  // the number of elements comes before the mask
      return memory.word(object + layout.set_mask - 8);
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDeque:
      return memory.word(object + layout.var_size);
    case Kind::kArray: {
      // A view of another array has the same elements.
      const auto elements = object_elements(memory, object);
      return elements && owned_data(memory, object) ? elements->count : 0;
    }
    default:
      return 0;
  }
}

EntrySample::EntrySample(Mirror& memory, ProcessTypes& types, MemorySource* pages)
    : memory_(memory),
      types_(types),
      objects_(memory, types, kLongestInEntry, true),
      sizes_(memory, types),
      pages_(pages) {}

EntrySample::Entry EntrySample::entry_of_dict(Address object, double where) {
  const PythonLayout& layout = types_.python;
  const DictKeys table = read_dict_keys(memory_, layout, memory_.word(object + layout.dict_keys));
  if (!table.ok || table.count == 0) return {};
  const Address split = memory_.word(object + layout.dict_values);
  auto at = static_cast<std::uint64_t>(where * static_cast<double>(table.count));
  for (int i = 0; i < kTries; ++i, at = (at + 1) % table.count) {
    const Address key = table.entries + at * table.entry_size() + table.key_offset();
    const Address value = split != 0 ? split + static_cast<Address>(layout.values_items) + 8 * at : key + 8;
    if (const Address word = memory_.word(value); word != 0) return {split != 0 ? 0 : memory_.word(key), word};
  }
  return {};
}

EntrySample::Entry EntrySample::entry_of_set(Address object, double where) {
  const Address table = memory_.word(object + types_.python.set_table);
  const std::uint64_t mask = memory_.word(object + types_.python.set_mask);
  auto at = static_cast<std::uint64_t>(where * static_cast<double>(mask));
  for (int i = 0; i < kTries; ++i, at = (at + 1) & mask) {
    // The place of an element that was removed has an object of the module, with hash -1.
    const Address word = memory_.word(table + 16 * at);
    if (word != 0 && memory_.word(table + 16 * at + 8) != ~Address{0}) return {0, word};
  }
  return {};
}

/// An entry near one of the ends: the way to those between is long.
EntrySample::Entry EntrySample::entry_of_deque(Address object, double where) {
  const std::uint64_t count = memory_.word(object + types_.python.var_size);
  const bool from_left = where < 0.5;
  const auto steps =
      static_cast<std::uint64_t>((from_left ? 2 * where : 2 * where - 1) *
                                 static_cast<double>(std::min(count, kMostDequeBlocks * kDequeBlockItems)));
  Address block = memory_.word(object + (from_left ? kDequeFirstBlock : kDequeLastBlock));
  const std::uint64_t index = memory_.word(object + (from_left ? kDequeFirstIndex : kDequeLastIndex));
  if (index >= kDequeBlockItems) return {};
  const std::uint64_t place = from_left ? index + steps : kDequeBlockItems - 1 - index + steps;
  for (std::uint64_t i = place / kDequeBlockItems; i > 0 && block != 0; --i) {
    block = memory_.word(from_left ? block + kDequeRight : block);
  }
  const std::uint64_t in_block = place % kDequeBlockItems;
  if (block == 0) return {};
  return {0, memory_.word(block + kDequeItems + 8 * (from_left ? in_block : kDequeBlockItems - 1 - in_block))};
}

EntrySample::Entry EntrySample::entry_at(Address object, Kind kind, double where) {
  if (kind == Kind::kDict) return entry_of_dict(object, where);
  if (kind == Kind::kSet) return entry_of_set(object, where);
  if (kind == Kind::kDeque) return entry_of_deque(object, where);
  const std::uint64_t count = entries_of(object, kind, memory_, types_);
  Address first = object + static_cast<Address>(types_.python.tuple_items);
  if (kind == Kind::kList) first = memory_.word(object + types_.python.list_items);
  if (kind == Kind::kArray) {
    const auto data = owned_data(memory_, object);
    first = data ? data->data : 0;
  }
  return {0, memory_.word(first + 8 * static_cast<std::uint64_t>(where * static_cast<double>(count)))};
}

double EntrySample::bytes_from(Address object) {
  struct Part {
    Address object;
    Kind kind;
    double share;
  };
  const PythonType* first = types_.python_types.type_of(memory_, object);
  if (first == nullptr) return 0;
  std::vector<Part> parts = {{object, first->kind, 1}};
  double bytes = 0;
  for (std::size_t i = 0; i < parts.size() && i < kMostObjects; ++i) {
    Part part = parts[i];
    if (belongs_elsewhere(part.kind)) continue;
    if (part.kind != Kind::kFrame) {
      const PythonType* type = types_.python_types.type_of(memory_, part.object);
      is_whole_ = is_whole_ && type != nullptr;
      if (type == nullptr) continue;
      // Each reference to an object has its share. Objects that live forever have billions of references.
      part.share /= std::max(1U, memory_.value<std::uint32_t>(part.object));
      if (part.share < kLeastShare) continue;
      const double own = part.share * static_cast<double>(sizes_.of(part.object, *type));
      bytes += own;
      if (pages_ != nullptr) unshared_ += unshared_of(part.object, *type, own);
      if (part.object != object) part_bytes_[type] += own;
      if (type->leaf || is_tensor(part.kind)) continue;
    }
    objects_.decode(part.object, part.kind, references_);
    std::erase_if(references_, [&](const Reference& each) {
      return each.cost > kDearest || (each.kind == Kind::kFrame && !is_inside(each.target, part.object));
    });
    const std::size_t followed = std::min(references_.size(), kMostReferences);
    for (std::size_t each = 0; each < followed; ++each) {
      const Reference& reference = references_[each * references_.size() / followed];
      const double of_all = static_cast<double>(references_.size()) / static_cast<double>(followed);
      parts.push_back({reference.target, reference.kind, part.share * of_all});
    }
  }
  return bytes;
}

double EntrySample::unshared_of(Address object, const PythonType& type, double own) {
  const PythonLayout& layout = types_.python;
  Address table = object;
  if (type.kind == Kind::kDict) table = memory_.word(object + layout.dict_keys);
  if (type.kind == Kind::kList) table = memory_.word(object + layout.list_items);
  if (type.kind == Kind::kSet) table = memory_.word(object + layout.set_table);
  // References are counted in the object; its table is elsewhere.
  const double fields = table == object ? own : std::min(own, static_cast<double>(type.basic_size));
  return (pages_->is_page_unshared(object) ? fields : 0) + (pages_->is_page_unshared(table) ? own - fields : 0);
}

bool EntrySample::is_certain() const {
  if (pages_ != nullptr) return seen_ >= kForPages;
  if (seen_ < kFewest) return false;
  const double count = static_cast<double>(seen_), mean = sum_ / count;
  const double variance = std::max(0.0, squares_ / count - mean * mean);
  return seen_ >= kMost || std::sqrt(variance / count) <= kError * mean;
}

void EntrySample::add_from(const std::vector<std::pair<Address, Kind>>& collections) {
  if (collections.empty()) return;
  for (std::size_t i = 0; i < 2 * (pages_ != nullptr ? kForPages : kMost) && !is_certain(); ++i) {
    const auto& [object, kind] = collections[i % collections.size()];
    random_ = random_ * 6364136223846793005ULL + 1442695040888963407ULL;
    const Entry entry = entry_at(object, kind, static_cast<double>(random_ >> 11) * 0x1p-53);
    const PythonType* type = types_.python_types.type_of(memory_, entry.value);
    is_whole_ = is_whole_ && (type != nullptr || entry.value == 0);
    if (type == nullptr) continue;
    const double bytes = bytes_from(entry.value) + (entry.key != 0 ? bytes_from(entry.key) : 0);
    ++seen_;
    if (is_tensor(type->kind)) ++tensors_;
    ++entry_types_[type];
    sum_ += bytes;
    squares_ += bytes * bytes;
  }
}

std::string EntrySample::entry_type() const {
  if (entry_types_.empty()) return {};
  const auto most = std::ranges::max_element(entry_types_, {}, [](const auto& each) { return each.second; });
  const std::string& name = most->first->name;
  return name.substr(name.rfind('.') + 1);
}

std::string EntrySample::parts() const {
  std::vector<std::pair<double, std::string>> most;
  double all = 0;
  for (const auto& [type, bytes] : part_bytes_) {
    most.emplace_back(bytes, type->name.substr(type->name.rfind('.') + 1));
    all += bytes;
  }
  std::ranges::sort(most, std::greater());
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostParts, most.size()); ++i) {
    if (most[i].first < kLeastPart * all || all == 0) break;
    text += (i == 0 ? "" : ", ") + most[i].second;
  }
  return text;
}

}  // namespace dcmt::scan
