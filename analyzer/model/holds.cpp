#include "analyzer/model/holds.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace dcmt::model {
namespace {

using analyzer::OwnerPath;
using analyzer::TraceData;

bool names_one_object(std::string_view path) {
  return path.find('<') == std::string_view::npos && path.find("…") == std::string_view::npos;
}

/// True if a path may end before this character of a longer path.
bool is_joint(char letter) { return letter == '.' || letter == '[' || letter == ' '; }

bool same_reading(const OwnerPath& a, const OwnerPath& b) { return a.scan <= b.last_scan && b.scan <= a.last_scan; }

class HoldFinder {
 public:
  explicit HoldFinder(const TraceData& data) : data_(data) {
    for (const OwnerPath& path : data.owners.paths) {
      const std::string_view text = data.text(path.path);
      if (path.confirmed && names_one_object(text)) by_text_[text].push_back(&path);
    }
  }

  std::vector<Hold> find() const {
    std::vector<Hold> found;
    for (const OwnerPath& path : data_.owners.paths) {
      if (const OwnerPath* holder = path.confirmed ? holder_of(path) : nullptr; holder != nullptr) {
        const analyzer::Scan* scan = data_.owners.scan(std::max(holder->scan, path.scan));
        if (scan != nullptr) found.push_back({holder->storage, path.storage, scan->from});
      }
    }
    const auto key = [](const Hold& each) { return std::tuple(each.holder, each.held, each.found); };
    std::ranges::sort(found, {}, key);
    const auto same = [](const Hold& a, const Hold& b) { return a.holder == b.holder && a.held == b.held; };
    found.erase(std::unique(found.begin(), found.end(), same), found.end());
    return found;
  }

 private:
  /// The path of the nearest holder on the way. nullptr: there is none, or its storage is not unique.
  const OwnerPath* holder_of(const OwnerPath& path) const {
    const std::string_view text = data_.text(path.path);
    for (std::size_t end = text.size(); end-- > 1;) {
      if (!is_joint(text[end])) continue;
      const auto at = by_text_.find(text.substr(0, end));
      if (at == by_text_.end()) continue;
      const OwnerPath* holder = nullptr;
      for (const OwnerPath* each : at->second) {
        if (each->place != path.place || !same_reading(*each, path)) continue;
        if (each->storage == path.storage || (holder != nullptr && holder->storage != each->storage)) return nullptr;
        if (holder == nullptr || each->scan < holder->scan) holder = each;
      }
      if (holder != nullptr) return holder;
    }
    return nullptr;
  }

  const TraceData& data_;
  std::unordered_map<std::string_view, std::vector<const OwnerPath*>> by_text_;
};

}  // namespace

std::vector<Hold> find_holds(const TraceData& data) { return HoldFinder(data).find(); }

}  // namespace dcmt::model
