#include "analyzer/storages/holder_names.h"

#include <algorithm>
#include <span>

#include "analyzer/storages/stacks.h"
#include "analyzer/storages/without_numbers.h"
#include "trace/base/cycle_text.h"

namespace dcmt::analyzer {
namespace {

/// The share of a place's found storages that must be held alike, so that others count as held alike, too.
constexpr double kAlike = 0.9;
constexpr std::string_view kVariable = "variable";
/// If storages of a size were held like the others of their place, readings should have found this many of them. If
/// they found none, they are not. A backward makes gradients that stay, and drops storages of other sizes at once.
constexpr double kMissed = 2;

}  // namespace

std::string_view holder_of(std::string_view path) {
  if (cycle_text::is_cycle(path)) {
    if (path.find(cycle_text::kCollectorFrees) != std::string_view::npos) return {};
    return path.substr(0, std::min({path.find(cycle_text::kThrough), path.find(cycle_text::kCollectorIsOff),
                                    path.find(cycle_text::kFrozen)}));
  }
  const std::size_t root = path.find(": ");
  // "libx.so: (anonymous namespace)::cache → Session".
  int inside = 0;
  for (std::size_t i = root == std::string_view::npos ? 0 : root + 2; i < path.size(); ++i) {
    if (path[i] == '(') ++inside;
    if (path[i] == ')') --inside;
    if (path[i] == ' ' && inside <= 0) return path.substr(0, i);
  }
  return path;
}

bool is_purpose(std::string_view category) {
  return std::ranges::find(kRoles, category) != std::end(kRoles) || category == kVariable || category == kTemporary ||
         category == kReplaced;
}

bool is_gradient(std::string_view path) { return path.ends_with(".grad"); }

void HolderNames::Counts::add(const Storage& storage, int part, const std::string& name) {
  ++by_stack_[{storage.birth.stack, part}][name];
  ++by_size_[{{storage.birth.stack, storage.bytes}, part}][name];
}

std::optional<std::string> HolderNames::Counts::most_of(Names names) {
  std::int64_t all = 0;
  for (const auto& [name, count] : names) all += count;
  // A variable has a tensor before the graph saves it.
  if (const auto early = names.find(std::string(kVariable)); early != names.end() && 2 * early->second < all) {
    all -= early->second;
    names.erase(early);
  }
  const auto most = std::ranges::max_element(names, {}, [](const auto& each) { return each.second; });
  const bool alike = all > 0 && static_cast<double>(most->second) >= kAlike * static_cast<double>(all);
  return alike ? std::optional(most->first) : std::nullopt;
}

bool HolderNames::Counts::has_size(const Storage& storage, int part) const {
  return by_size_.contains({{storage.birth.stack, storage.bytes}, part});
}

std::optional<std::string> HolderNames::Counts::most_of_size(const Storage& storage, int part) const {
  const auto alike = by_size_.find({{storage.birth.stack, storage.bytes}, part});
  return alike != by_size_.end() ? most_of(alike->second) : std::nullopt;
}

std::optional<std::string> HolderNames::Counts::most_of_place(const Storage& storage, const HolderNames& names) const {
  const auto there = by_stack_.find({storage.birth.stack, names.part_of(storage)});
  if (there == by_stack_.end()) return std::nullopt;
  std::int64_t found = 0;
  for (const auto& [name, count] : there->second) found += count;
  const double of_its_size = static_cast<double>(found) * names.share_of_size(storage);
  return of_its_size < kMissed ? most_of(there->second) : std::nullopt;
}

HolderNames::SizesOfPlaces::SizesOfPlaces(const TraceData& data) {
  each_of_sample(data, [this](const Storage& storage) { ++by_size_[{storage.birth.stack, storage.bytes}]; });
  for (const auto& [of, count] : by_size_) by_stack_[of.first] += count;
}

double HolderNames::SizesOfPlaces::share_of(StackId stack, Bytes bytes) const {
  const auto all = by_stack_.find(stack);
  const auto of_size = by_size_.find({stack, bytes});
  if (all == by_stack_.end() || of_size == by_size_.end()) return 0;
  return static_cast<double>(of_size->second) / static_cast<double>(all->second);
}

bool is_lasting_cycle(std::string_view path) {
  return cycle_text::is_cycle(path) && (path.find(cycle_text::kCollectorIsOff) != std::string_view::npos ||
                                        path.find(cycle_text::kFrozen) != std::string_view::npos);
}

std::string_view variable_at_root(std::string_view path) {
  const std::size_t frame = path.find(": ");
  const std::size_t module_end = frame == std::string_view::npos ? path.find('.') : std::string_view::npos;
  const std::size_t name = frame != std::string_view::npos        ? frame + 2
                           : module_end != std::string_view::npos ? module_end + 1
                                                                  : 0;
  return path.substr(0, path.find_first_of(".[", name));
}

bool is_plain_variable(std::string_view holder) { return variable_at_root(holder) == holder; }

bool has_one_value(std::string_view path) {
  const std::size_t root = path.find(": ");  // "fit.<locals>.<dictcomp>: p" is one variable
  return holder_of(path) == path && !cycle_text::is_cycle(path) &&
         path.find_first_of("{<(*", root == std::string_view::npos ? 0 : root) == std::string_view::npos;
}

HolderNames::HolderNames(const TraceData& data) : data_(data), is_cpp_(has_cpp_stacks(data)) {
  for (const Held& held : data.owners.held) {
    const Storage* storage = data.storages.find(held.storage);
    if (storage == nullptr) continue;
    if (const std::optional<std::string> name = seen(held.storage)) {
      holders_.add(*storage, part_of(*storage), *name);
      if (held.containers.empty() && has_one_value(*name) && (held.role.empty() || is_plain_variable(*name)))
        of_one_value_.insert(*name);
    }
    if (const std::optional<std::string> name = purpose_of(held)) categories_.add(*storage, part_of(*storage), *name);
  }
}

std::optional<std::string> HolderNames::seen(StorageId storage) const {
  const Held* held = data_.owners.of(storage);
  if (held == nullptr) return std::nullopt;
  std::string name;
  for (const ContainerId id : held->containers) {
    if (!name.empty()) name += " + ";
    name += data_.text(data_.owners.container(id)->path);
  }
  // A weight is in the graph of each kept output, but it belongs to the model.
  if (!name.empty() && !held->otherwise) return name;
  const std::span<const OwnerPath> paths = data_.owners.paths_to(storage);
  const auto is_past_graphs = [this](const OwnerPath& path) {
    return path.confirmed && data_.text(path.path).find(".grad_fn") == std::string_view::npos;
  };
  // A gradient in a bucket is a view of it, and does not own it.
  auto past_graphs = std::ranges::find_if(
      paths, [&](const OwnerPath& path) { return is_past_graphs(path) && !is_gradient(data_.text(path.path)); });
  if (past_graphs == paths.end()) past_graphs = std::ranges::find_if(paths, is_past_graphs);
  const OwnerPath* path = past_graphs != paths.end() ? &*past_graphs : data_.owners.path_to(storage);
  if (path == nullptr) return name.empty() ? std::nullopt : std::optional(name);
  const std::string_view holder = holder_of(data_.text(path->path));
  return holder.empty() ? std::string("a cycle that Python's collector frees") : without_numbers(holder);
}

std::optional<std::string> HolderNames::seen_category(StorageId storage) const {
  const Held* held = data_.owners.of(storage);
  if (held == nullptr) return std::nullopt;
  if (!held->role.empty()) return held->role;
  return seen(storage) ? std::optional<std::string>(kVariable) : std::nullopt;
}

std::optional<std::string> HolderNames::purpose_of(const Held& held) const {
  std::optional<std::string> category = seen_category(held.storage);
  const bool is_late = category == kVariable && was_met_in_backward(data_, phases(), held);
  return is_late && by_life(held.storage) == kSavedForBackward ? std::string(kSavedForBackward) : category;
}

bool HolderNames::was_met_early(const Storage& storage, const Held& held) const {
  const Scan* scan = data_.owners.scan(held.scan);
  if (scan == nullptr) return false;
  const Mark* made_in = phases().at(storage.span.from_seq);
  return made_in != nullptr && made_in == phases().at(scan->from);
}

const PhaseIndex& HolderNames::phases() const {
  if (!phases_) phases_.emplace(data_);
  return *phases_;
}

int HolderNames::part_of(const Storage& storage) const {
  if (!is_cpp_) return 0;
  const Mark* const made_in = phases().at(storage.span.from_seq);
  return is_phase(data_, made_in, "backward") ? 1 : is_phase(data_, made_in, "optimizer") ? 2 : 0;
}

bool HolderNames::is_of_one_update(StorageId storage) const {
  const Storage* const row = data_.storages.find(storage);
  if (!is_cpp_ || row == nullptr || !row->span.ended()) return false;
  const Mark* const made_in = phases().at(row->span.from_seq);
  return is_phase(data_, made_in, "optimizer") && made_in == phases().at(row->span.to_seq);
}

double HolderNames::share_of_size(const Storage& storage) const {
  if (!sizes_) sizes_.emplace(data_);
  return sizes_->share_of(storage.birth.stack, storage.bytes);
}

std::optional<std::string> HolderNames::as_others(const Counts& counts, StorageId storage) const {
  const Storage* row = data_.storages.find(storage);
  if (row == nullptr) return std::nullopt;
  const int part = part_of(*row);
  if (counts.has_size(*row, part)) return counts.most_of_size(*row, part);
  return lives_otherwise(*row) ? std::nullopt : counts.most_of_place(*row, *this);
}

bool HolderNames::lives_otherwise(const Storage& storage) const {
  const std::optional<std::string> others = categories_.most_of_place(storage, *this);
  if (!others) return false;
  const std::optional<std::string> category = by_life(storage.id);
  return category && *category != *others;
}

std::optional<std::string> HolderNames::by_life(StorageId storage) const {
  const Storage* row = data_.storages.find(storage);
  // Without a reading, nothing shows what the rest of the memory is for.
  if (row == nullptr || data_.owners.scans.empty()) return std::nullopt;
  if (!lives_) lives_.emplace(data_);
  const std::optional<std::string_view> category = lives_->category_of(*row);
  return category ? std::optional(std::string(*category)) : std::nullopt;
}

std::optional<std::string> HolderNames::holder_of_others(StorageId storage) const {
  std::optional<std::string> name = as_others(holders_, storage);
  return name && !of_one_value_.contains(*name) ? name : std::nullopt;
}

std::string HolderNames::of(StorageId storage) const {
  if (std::optional<std::string> name = seen(storage)) return *name;
  const std::optional<std::string> most = holder_of_others(storage);
  return most ? *most + std::string(kAsOthers) : std::string(kNotRead);
}

std::optional<std::string> HolderNames::variable_of(StorageId storage) const {
  if (category_of(storage) != kVariable) return std::nullopt;
  if (std::optional<std::string> name = seen(storage)) return name;
  return holder_of_others(storage);
}

bool HolderNames::is_replaced(StorageId storage) const {
  const std::optional<std::string> category = by_life(storage);
  return category == kReplaced || category == kTemporary;
}

std::string HolderNames::category_of(StorageId storage) const {
  if (const Held* held = data_.owners.of(storage); held != nullptr) {
    if (std::optional<std::string> category = purpose_of(*held)) {
      const Storage* row = *category == kVariable ? data_.storages.find(storage) : nullptr;
      const bool was_early = row != nullptr && was_met_early(*row, *held);
      return was_early ? as_others(categories_, storage).value_or(*category) : *category;
    }
  }
  if (is_of_one_update(storage)) return std::string(kTemporary);
  if (std::optional<std::string> category = as_others(categories_, storage)) return *category;
  return by_life(storage).value_or("not attributed");
}

}  // namespace dcmt::analyzer
