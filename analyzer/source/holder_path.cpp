#include "analyzer/source/holder_path.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "analyzer/source/common_names.h"
#include "analyzer/source/python_source.h"
#include "trace/base/cycle_text.h"

namespace dcmt::analyzer {
namespace {

constexpr std::string_view kResults = " (lru_cache)";
constexpr std::string_view kQueue = " (queue)";  // the items of an object in C
constexpr std::array<std::string_view, 3> kOfModules = {"_modules", "_buffers", "_parameters"};
constexpr std::string_view kSuspended = "_frame ";  // "main.gi_frame", with the function that it runs

struct RootAndRest {
  std::string_view root;  ///< "main", or "Server.run" of a suspended function; empty: a module's variable
  std::string_view rest;
};

/// Of "run: main.gi_frame Server.run (app.py:24): self.rows", the function that has the variable is the suspended one.
RootAndRest parts_of_path(std::string_view path) {
  if (const std::size_t at = path.rfind(kSuspended); at != npos) path.remove_prefix(at + kSuspended.size());
  const std::size_t root = path.find(": ");
  if (root == npos) return {{}, path};
  return {path.substr(0, std::min(root, path.find(' '))), path.substr(root + 2)};
}

void add_names(std::string_view path, std::set<std::string_view>& names) {
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('.'));
    if (is_name(name) && !name.starts_with("__")) names.insert(name);
    path.remove_prefix(std::min(name.size() + 1, path.size()));
  }
}

/// The names behind the dots of a path.
void add_attributes(std::string_view path, std::set<std::string_view>& names) {
  for (std::size_t dot = path.find('.'); dot != npos; dot = path.find('.', dot + 1)) {
    const std::string_view rest = path.substr(dot + 1);
    const std::string_view name(rest.begin(), std::ranges::find_if_not(rest, is_of_name));
    if (is_name(name) && !name.starts_with("__")) names.insert(name);
  }
}

/// "main: ap", ".scores" and "['a']" of "main: ap.scores['a']"; "main.Cloud" and ".near" of "main.Cloud.near".
std::vector<std::string_view> parts_from_variable(std::string_view path) {
  std::vector<std::string_view> parts;
  const std::size_t function = path.find(": "), module = path.find('.');
  const std::size_t variable = std::min(function != npos ? function + 2 : module, path.size());
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t at = std::min(variable + 1, path.size()); at < path.size(); ++at) {
    if (depth == 0 && (path[at] == '.' || path[at] == '[')) {
      parts.push_back(path.substr(begin, at - begin));
      begin = at;
    }
    depth += path[at] == '[' ? 1 : path[at] == ']' ? -1 : 0;
  }
  parts.push_back(path.substr(begin));
  return parts;
}

}  // namespace

std::string_view last_name(std::string_view path) { return path.substr(path.find_last_of(".: ") + 1); }

PathEnd end_of_path(std::string_view holder) {
  PathEnd end;
  // What each object of a chain leads to, as a call that an exception ended, is not what links it to the next.
  if (const std::size_t links = holder.find(kMoreLinks); links != npos)
    holder = holder.substr(0, std::min(holder.find(kSuspended, links), holder.size()));
  auto [root, path] = parts_of_path(holder);
  if (const std::size_t links = path.find(kMoreLinks); links != npos) {  // "head.before….value": a variable
    end.link = last_name(path.substr(0, links));
    path = path.substr(0, path.find_last_of(".[", links));
  }
  if (path.ends_with(kQueue)) path.remove_suffix(kQueue.size());
  if (path.ends_with(kModules)) path.remove_suffix(kModules.size());  // `stages.append(layer)`
  while (path.ends_with(']')) {
    const std::size_t open = path.rfind('[');
    if (open == npos) return {};
    const std::string_view entry = path.substr(open);
    path = path.substr(0, open);
    if (path.ends_with(".__closure__")) {  // "f.__closure__['past']": a variable of the function around f
      end.name = entry.size() > 4 ? entry.substr(2, entry.size() - 4) : std::string_view();
      return is_name(end.name) ? end : PathEnd{};
    }
  }
  const std::size_t dot = path.rfind('.');
  end.name = dot == npos ? path : path.substr(dot + 1);
  if (!is_name(end.name) || end.name.starts_with("__") || path.find(' ') != npos) return {};
  // "main.losses" is a module's variable, "main.Probe.seen" an attribute of a class.
  end.attribute = root.empty() ? path.find('.') != dot : dot != npos;
  if (!root.empty() && dot == npos) end.function = last_name(root);
  return end;
}

std::set<std::string_view> names_on_path(std::string_view holder) {
  std::set<std::string_view> names;
  if (cycle_text::is_cycle(holder)) {
    for (const std::string_view each : parts_of(holder.substr(cycle_text::kBegin.size()), " "))
      add_names(each.substr(0, each.find('.')), names);
    return names;
  }
  auto [root, path] = parts_of_path(holder);
  if (root.empty()) {
    const std::size_t module = path.find_first_of(".[");
    path.remove_prefix(module == npos ? path.size() : module + (path[module] == '.' ? 1 : 0));
  }
  add_names(path.substr(0, path.find_first_of(" [")), names);
  for (std::size_t at = path.find('['); at != npos; at = path.find('[', at + 1)) {
    const std::size_t close = path.find(']', at);
    if (close == npos || close < at + 4) continue;
    const std::string_view key = path.substr(at + 2, close - at - 3);  // ['stack'], or <trail> of a context
    if (is_name(key)) names.insert(key);
  }
  return names;
}

std::set<std::string_view> attributes_from_holder(std::string_view holder, std::string_view path) {
  const std::string_view end = last_name(holder);
  std::set<std::string_view> names;
  if (std::ranges::find(kOfModules, end) != kOfModules.end()) {
    holder.remove_suffix(end.size());
    add_attributes(holder.substr(holder.rfind(']') + 1), names);
  } else if (const std::size_t at = path.rfind(end); at != npos && !end.empty()) {
    add_attributes(path.substr(path.find_last_of(".: ", at) + 1 == at && at > 0 ? at - 1 : at), names);
  }
  return names;
}

std::set<std::string_view> suspended_from_holder(std::string_view holder, std::string_view path) {
  std::set<std::string_view> functions;
  const std::size_t end = path.rfind(last_name(holder));
  for (std::size_t at = path.find(kSuspended, std::min(end, path.size())); at != npos;
       at = path.find(kSuspended, at + 1)) {
    const std::string_view rest = path.substr(at + kSuspended.size());
    if (const std::string_view name = last_name(rest.substr(0, rest.find(' '))); is_name(name)) functions.insert(name);
  }
  return functions;
}

std::set<std::string_view> links_of_cycle(std::string_view holder) {
  std::set<std::string_view> links;
  if (!cycle_text::is_cycle(holder)) return links;
  for (std::string_view each : parts_of(holder.substr(cycle_text::kBegin.size()), " ")) {
    each = each.substr(0, each.find('['));
    if (const std::size_t dot = each.rfind('.'); dot != npos && is_name(each.substr(dot + 1)))
      links.insert(each.substr(dot + 1));
  }
  return links;
}

std::string_view cached_function(std::string_view holder) {
  const std::size_t end = holder.find(kResults);
  return end != npos ? last_name(holder.substr(0, end)) : std::string_view();
}

bool are_of_one_object(std::string_view path, std::string_view other) {
  const std::vector<std::string_view> parts = parts_from_variable(path), others = parts_from_variable(other);
  if (parts.size() != others.size() || parts.front() != others.front()) return false;
  std::size_t differ = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) differ += parts[i] != others[i] ? 1 : 0;
  return differ == 1;
}

std::string without_entries(std::string_view path) {
  std::string key;
  int depth = 0;
  for (const char letter : path) {
    if (letter == '[') ++depth;
    if (depth == 0 && (letter < '0' || letter > '9')) key += letter;
    if (letter == ']') --depth;
  }
  return key;
}

}  // namespace dcmt::analyzer
