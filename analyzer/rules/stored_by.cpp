#include "analyzer/rules/stored_by.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "analyzer/rules/common_names.h"
#include "analyzer/rules/python_source.h"
#include "trace/base/code_path.h"
#include "trace/base/printable.h"

namespace dcmt::analyzer {
namespace {

constexpr std::size_t npos = std::string_view::npos;
constexpr std::size_t kLongestText = 100;  ///< of a statement, characters

constexpr std::array<std::string_view, 10> kPuttingCalls = {
    "append", "appendleft", "extend", "extendleft", "insert", "add", "update", "setdefault", "put", "put_nowait"};
/// These put something into their first argument.
constexpr std::array<std::string_view, 4> kPuttingFunctions = {"heappush", "insort", "insort_left", "insort_right"};

/// The last name of a path.
struct Target {
  std::string_view name;
  std::string_view function;  ///< of which it is a local variable; empty: an attribute, or a module's variable
  bool attribute = false;     ///< of any object
};

Target target_of(std::string_view holder) {
  Target target;
  const std::size_t root = holder.find(": ");
  std::string_view path = root == npos ? holder : holder.substr(root + 2);
  if (const std::size_t links = path.find(kMoreLinks); links != npos) {  // "head.before….value": a variable
    path = path.substr(0, path.find_last_of(".[", links));
  }
  while (path.ends_with(']')) {
    const std::size_t open = path.rfind('[');
    if (open == npos) return {};
    const std::string_view entry = path.substr(open);
    path = path.substr(0, open);
    if (path.ends_with(".__closure__")) {  // "f.__closure__['past']": a variable of the function around f
      target.name = entry.size() > 4 ? entry.substr(2, entry.size() - 4) : std::string_view();
      return is_name(target.name) ? target : Target{};
    }
  }
  const std::size_t dot = path.rfind('.');
  target.name = dot == npos ? path : path.substr(dot + 1);
  if (!is_name(target.name) || target.name.starts_with("__") || path.find(' ') != npos) return {};
  // "main.losses" is a module's variable, "main.Probe.seen" an attribute of a class.
  target.attribute = root != npos ? dot != npos : path.find('.') != dot;
  if (root != npos && dot == npos) target.function = holder.substr(0, root);
  if (const std::size_t last = target.function.rfind('.'); last != npos) target.function.remove_prefix(last + 1);
  return target;
}

/// The position after the brackets that open at `at`; npos if they do not close.
std::size_t behind_brackets(std::string_view line, std::size_t at) {
  int depth = 0;
  for (; at < line.size(); ++at) {
    if (line[at] == '[' || line[at] == '(') ++depth;
    if (line[at] == ']' || line[at] == ')') --depth;
    if (depth == 0) return at + 1;
  }
  return npos;
}

/// True if the text after the name puts something into it, or into its entries.
bool puts(std::string_view rest) {
  bool entry = false;
  while (true) {
    rest = rest.substr(std::min(rest.find_first_not_of(" \t"), rest.size()));
    if (!rest.starts_with('[')) break;
    const std::size_t behind = behind_brackets(rest, 0);
    if (behind == npos) return false;
    rest.remove_prefix(behind);
    entry = true;
  }
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    const std::size_t end = std::ranges::find_if_not(rest, is_of_name) - rest.begin();
    const std::string_view call = rest.substr(0, end);
    rest = rest.substr(end);
    return rest.starts_with('(') && std::ranges::find(kPuttingCalls, call) != kPuttingCalls.end();
  }
  if (rest.starts_with("+=") || rest.starts_with("|=")) return true;
  return entry && rest.starts_with('=') && !rest.starts_with("==");
}

/// True for `name = [*name, x]` and `name = Link(x, name)`, from behind the first name.
bool renews(std::string_view rest, std::string_view name) {
  rest = trimmed(rest);
  if (!rest.starts_with('=') || rest.starts_with("==")) return false;
  for (std::size_t at = rest.find(name); at != npos; at = rest.find(name, at + 1)) {
    const std::string_view behind = rest.substr(at + name.size());
    const bool is_whole = !is_of_name(rest[at - 1]) && (behind.empty() || !is_of_name(behind.front()));
    if (is_whole && !trimmed(behind).starts_with('=')) return true;
  }
  return false;
}

/// True if the text before the name calls a function that puts something into what follows.
bool is_put_into(std::string_view before) {
  before = trimmed(before);
  if (!before.ends_with('(')) return false;
  before.remove_suffix(1);
  const auto last = std::find_if_not(before.rbegin(), before.rend(), is_of_name);
  return std::ranges::find(kPuttingFunctions, std::string_view(last.base(), before.end())) != kPuttingFunctions.end();
}

bool puts_into(std::string_view line, const Target& target) {
  for (std::size_t at = line.find(target.name); at != npos; at = line.find(target.name, at + 1)) {
    const std::size_t end = at + target.name.size();
    const char before = at == 0 ? ' ' : line[at - 1];
    if (is_of_name(before) || (end < line.size() && is_of_name(line[end]))) continue;
    const bool of_object = before == '.';
    // A module's variable is an attribute if another module names it.
    const bool fits = target.attribute ? of_object : target.function.empty() || !of_object;
    const std::string_view rest = line.substr(end);
    if (fits && (puts(rest) || renews(rest, target.name) || is_put_into(line.substr(0, at)))) return true;
  }
  return false;
}

StoringStatement statement(std::string_view site, const PythonSource::Line& line) {
  return {std::string(site) + ":" + std::to_string(line.number), printable(line.text.substr(0, kLongestText))};
}

/// True if the line calls one of the names, or, where `methods`, a method of one.
bool calls_one_of(std::string_view line, const std::set<std::string_view>& names, bool methods) {
  const std::string_view text = trimmed(line);
  if (text.starts_with("def ") || text.starts_with("async def ") || text.starts_with("class ")) return false;
  for (const std::string_view name : names) {
    for (std::size_t at = line.find(name); at != npos; at = line.find(name, at + 1)) {
      if (at > 0 && (is_of_name(line[at - 1]) || (methods && line[at - 1] == '.'))) continue;
      std::string_view rest = line.substr(at + name.size());
      if (methods && rest.starts_with('.')) {
        rest.remove_prefix(1);
        rest.remove_prefix(static_cast<std::size_t>(std::ranges::find_if_not(rest, is_of_name) - rest.begin()));
      }
      if (rest.starts_with('(')) return true;
    }
  }
  return false;
}

/// The names of a path, without the module or function at its root: "pending" and "queue" of "main.pending.queue".
std::set<std::string_view> names_of(std::string_view holder) {
  std::set<std::string_view> names;
  const std::size_t root = holder.find(": ");
  std::string_view path =
      root == npos ? holder.substr(std::min(holder.find('.'), holder.size() - 1) + 1) : holder.substr(root + 2);
  path = path.substr(0, path.find_first_of(" ["));
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('.'));
    if (is_name(name) && !name.starts_with("__")) names.insert(name);
    path.remove_prefix(std::min(name.size() + 1, path.size()));
  }
  return names;
}

/// A file of the user's through which the storages were made.
struct UserFile {
  UserFile(std::string_view name, std::string_view code) : site(name), source(code) {}
  std::string_view site;
  PythonSource source;
};

std::vector<StoringStatement> statements_in(const UserFile& file, std::string_view holder) {
  std::vector<StoringStatement> statements;
  const Target target = target_of(holder);
  if (target.name.empty()) return statements;
  for (const PythonSource::Line& line : file.source.lines()) {
    const bool counts = target.function.empty() || file.source.is_within(line, target.function);
    if (counts && puts_into(line.bare, target)) statements.push_back(statement(file.site, line));
  }
  return statements;
}

std::vector<StoringStatement> calls_in(const UserFile& file, const std::set<std::string_view>& names) {
  std::vector<StoringStatement> calls;
  for (const PythonSource::Line& line : file.source.lines()) {
    if (calls_one_of(line.bare, names, false)) calls.push_back(statement(file.site, line));
  }
  return calls;
}

/// Statements that use an object of the path: they call one of its methods, or give it an entry.
std::vector<StoringStatement> uses_in(const UserFile& file, std::string_view holder) {
  const std::set<std::string_view> names = names_of(holder);
  std::vector<StoringStatement> uses;
  for (const PythonSource::Line& line : file.source.lines()) {
    const bool puts = std::ranges::any_of(names, [&](std::string_view name) {
      return puts_into(line.bare, {name, {}, false});
    });
    if (puts || calls_one_of(line.bare, names, true)) uses.push_back(statement(file.site, line));
  }
  return uses;
}

/// The functions that have one of the statements, but not the one whose variable the holder is: calls of the others are
/// on the way to it.
std::set<std::string_view> functions_of(const UserFile& file, const std::vector<StoringStatement>& statements,
                                        std::string_view holder) {
  std::set<std::string_view> functions;
  for (const PythonSource::Line& line : file.source.lines()) {
    const std::string_view function = file.source.function_of(line);
    if (function.empty() || function == target_of(holder).function) continue;
    if (std::ranges::find(statements, statement(file.site, line)) != statements.end()) functions.insert(function);
  }
  return functions;
}

}  // namespace

std::vector<StoringStatement> storing_statements(std::string_view code, std::string_view site,
                                                 std::string_view holder) {
  return statements_in(UserFile(site, code), holder);
}

std::vector<StoringStatement> calls_on_path(std::string_view code, std::string_view site, std::string_view holder) {
  return uses_in(UserFile(site, code), holder);
}

Storing stored_by(const TraceData& data, std::string_view holder, const std::vector<StackId>& made_at) {
  std::set<StringId> paths;
  for (StackId id : made_at) {
    for (const Stack* stack = data.stacks.find(id); stack != nullptr; stack = data.stacks.find(stack->parent)) {
      if (const Frame* frame = data.frames.find(stack->frame)) paths.insert(frame->file);
    }
  }
  std::deque<UserFile> files;
  for (const SourceFile& source : data.sources) {
    const std::string_view path = data.text(source.path);
    if (!paths.contains(source.path) || is_library_file(path) || is_compiler_output(path)) continue;
    files.emplace_back(short_path(path, 1), source.text);
  }
  Storing storing;
  const auto add = [](std::vector<StoringStatement> from, std::vector<StoringStatement>& to) {
    std::ranges::move(from, std::back_inserter(to));
  };
  for (const UserFile& file : files) add(statements_in(file, holder), storing.statements);
  if (storing.statements.empty()) {
    for (const UserFile& file : files) add(uses_in(file, holder), storing.statements);
    return storing;
  }
  std::set<std::string_view> functions;
  for (const UserFile& file : files) functions.merge(functions_of(file, storing.statements, holder));
  for (const UserFile& file : files) add(calls_in(file, functions), storing.calls);
  return storing;
}

}  // namespace dcmt::analyzer
