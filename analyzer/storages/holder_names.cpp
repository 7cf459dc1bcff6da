#include "analyzer/storages/holder_names.h"

#include <algorithm>
#include <span>

#include "analyzer/storages/without_numbers.h"

namespace dcmt::analyzer {
namespace {

/// Of the storages that a scan found at a place, so many are held alike where others are taken to be, too.
constexpr double kAlike = 0.9;
constexpr std::string_view kVariable = "variable";

}  // namespace

std::string_view holder_of(std::string_view path) {
  if (path.starts_with("cycle ")) {
    const bool collected = path.find("(Python's collector can free it)") != std::string_view::npos;
    return collected ? std::string_view() : path.substr(0, path.find(" (through"));
  }
  const std::size_t root = path.find(": ");
  return path.substr(0, path.find(' ', root == std::string_view::npos ? 0 : root + 2));
}

bool is_purpose(std::string_view category) {
  return std::ranges::find(kRoles, category) != std::end(kRoles) || category == kVariable;
}

void HolderNames::Counts::add(const Storage& storage, const std::string& name) {
  ++by_stack_[storage.birth.stack][name];
  ++by_size_[{storage.birth.stack, storage.bytes}][name];
}

std::optional<std::string> HolderNames::Counts::most_of(Names names) {
  std::int64_t all = 0;
  for (const auto& [name, count] : names) all += count;
  // A variable has a tensor before the graph that will save it has.
  if (const auto early = names.find(std::string(kVariable)); early != names.end() && 2 * early->second < all) {
    all -= early->second;
    names.erase(early);
  }
  const auto most = std::ranges::max_element(names, {}, [](const auto& each) { return each.second; });
  const bool alike = all > 0 && static_cast<double>(most->second) >= kAlike * static_cast<double>(all);
  return alike ? std::optional(most->first) : std::nullopt;
}

std::optional<std::string> HolderNames::Counts::most(StackId stack) const {
  const auto found = by_stack_.find(stack);
  return found != by_stack_.end() ? most_of(found->second) : std::nullopt;
}

std::optional<std::string> HolderNames::Counts::most(StackId stack, Bytes bytes) const {
  const auto found = by_size_.find({stack, bytes});
  return found != by_size_.end() ? most_of(found->second) : std::nullopt;
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

HolderNames::HolderNames(const TraceData& data) : data_(data) {
  for (const Held& held : data.owners.held) {
    const Storage* storage = data.storages.find(held.storage);
    if (storage == nullptr) continue;
    if (const std::optional<std::string> name = seen(held.storage)) holders_.add(*storage, *name);
    if (const std::optional<std::string> name = seen_category(held.storage)) categories_.add(*storage, *name);
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
  // A weight is in the graph of each output that somebody keeps, and it is the model's all the same.
  if (!name.empty() && !held->otherwise) return name;
  const std::span<const OwnerPath> paths = data_.owners.paths_to(storage);
  const auto past_graphs = std::ranges::find_if(paths, [this](const OwnerPath& path) {
    return path.confirmed && data_.text(path.path).find(".grad_fn") == std::string_view::npos;
  });
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

std::string HolderNames::of(StorageId storage) const {
  if (std::optional<std::string> name = seen(storage)) return *name;
  const Storage* row = data_.storages.find(storage);
  const std::optional<std::string> most = row != nullptr ? holders_.most(row->birth.stack) : std::nullopt;
  return most ? *most + ", as others made there" : "not read";
}

std::optional<std::string> HolderNames::variable_of(StorageId storage) const {
  if (category_of(storage) != kVariable) return std::nullopt;
  if (std::optional<std::string> name = seen(storage)) return name;
  return holders_.most(data_.storages.find(storage)->birth.stack);
}

std::string HolderNames::category_of(StorageId storage) const {
  if (std::optional<std::string> category = seen_category(storage)) return *category;
  const Storage* row = data_.storages.find(storage);
  if (row == nullptr) return "not attributed";
  std::optional<std::string> most = categories_.most(row->birth.stack, row->bytes);
  if (!most) most = categories_.most(row->birth.stack);
  return most.value_or("not attributed");
}

}  // namespace dcmt::analyzer
