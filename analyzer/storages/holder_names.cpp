#include "analyzer/storages/holder_names.h"

#include <algorithm>
#include <span>

#include "analyzer/storages/without_numbers.h"

namespace dcmt::analyzer {
namespace {

/// Of the storages that a scan found at a place, so many are held alike where others are taken to be, too.
constexpr double kAlike = 0.9;

}  // namespace

std::string_view holder_of(std::string_view path) {
  if (path.starts_with("cycle ")) {
    const bool collected = path.find("(Python's collector can free it)") != std::string_view::npos;
    return collected ? std::string_view() : path.substr(0, path.find(" (through"));
  }
  const std::size_t root = path.find(": ");
  return path.substr(0, path.find(' ', root == std::string_view::npos ? 0 : root + 2));
}

HolderNames::HolderNames(const TraceData& data) : data_(data) {
  for (const Held& held : data.owners.held) {
    const Storage* storage = data.storages.find(held.storage);
    std::optional<std::string> name = seen(held.storage);
    if (storage == nullptr || !name) continue;
    Found& found = found_[storage->birth.stack];
    ++found.storages[*std::move(name)];
    ++found.all;
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

std::string HolderNames::of(StorageId storage) const {
  if (std::optional<std::string> name = seen(storage)) return *name;
  const Storage* row = data_.storages.find(storage);
  const auto found = row != nullptr ? found_.find(row->birth.stack) : found_.end();
  if (found == found_.end()) return "not read";
  const auto& [storages, all] = found->second;
  const auto most = std::ranges::max_element(storages, {}, [](const auto& each) { return each.second; });
  if (static_cast<double>(most->second) < kAlike * static_cast<double>(all)) return "not read";
  return most->first + ", as others made there";
}

}  // namespace dcmt::analyzer
