#include "analyzer/rules/stored_by.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "analyzer/rules/common_names.h"
#include "analyzer/rules/made_values.h"
#include "analyzer/rules/python_source.h"
#include "trace/base/code_path.h"
#include "trace/base/printable.h"

namespace dcmt::analyzer {
namespace {

constexpr std::size_t kLongestText = 100;  ///< of a statement, characters
constexpr std::string_view kCycle = "cycle ";
constexpr std::string_view kResults = " (lru_cache)";

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

bool puts_into_part(std::string_view line, const Target& target) {
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

bool puts_into(std::string_view line, const Target& target) {
  return std::ranges::any_of(parts_of(line, ";"), [&](std::string_view part) { return puts_into_part(part, target); });
}

StoringStatement statement(std::string_view site, const PythonSource::Line& line) {
  return {std::string(site) + ":" + std::to_string(line.number), printable(line.text.substr(0, kLongestText))};
}

bool is_definition(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.starts_with("def ") || text.starts_with("async def ") || text.starts_with("class ");
}

/// True if the line calls one of the names, or a method of one.
bool calls_one_of(std::string_view line, const std::set<std::string_view>& names) {
  if (is_definition(line)) return false;
  for (const std::string_view name : names) {
    for (std::size_t at = line.find(name); at != npos; at = line.find(name, at + 1)) {
      if (at > 0 && (is_of_name(line[at - 1]) || line[at - 1] == '.')) continue;
      std::string_view rest = line.substr(at + name.size());
      if (rest.starts_with('.')) {
        rest.remove_prefix(1);
        rest.remove_prefix(static_cast<std::size_t>(std::ranges::find_if_not(rest, is_of_name) - rest.begin()));
      }
      if (rest.starts_with('(')) return true;
    }
  }
  return false;
}

/// True if the line calls a function of this name. `of` says whether the object counts whose method it is; "": of none.
template <class Counts>
bool calls_function(std::string_view line, std::string_view function, Counts of) {
  if (is_definition(line)) return false;
  for (std::size_t at = line.find(function); at != npos; at = line.find(function, at + 1)) {
    if (!line.substr(at + function.size()).starts_with('(') || (at > 0 && is_of_name(line[at - 1]))) continue;
    const std::string_view before = line.substr(0, at > 0 && line[at - 1] == '.' ? at - 1 : 0);
    const auto begin = std::find_if_not(before.rbegin(), before.rend(), is_of_name).base();
    if (of(std::string_view(begin, before.end()))) return true;
  }
  return false;
}

/// The names of a path, without the module or function at its root: "pending" and "queue" of "main.pending.queue";
/// those that it has as keys, "stack" of "main.local (by thread)[…]['stack']"; and the classes of a cycle.
std::set<std::string_view> names_of(std::string_view holder) {
  std::set<std::string_view> names;
  const auto add = [&names](std::string_view path) {
    while (!path.empty()) {
      const std::string_view name = path.substr(0, path.find('.'));
      if (is_name(name) && !name.starts_with("__")) names.insert(name);
      path.remove_prefix(std::min(name.size() + 1, path.size()));
    }
  };
  if (holder.starts_with(kCycle)) {
    for (const std::string_view each : parts_of(holder.substr(kCycle.size()), " ")) add(each.substr(0, each.find('.')));
    return names;
  }
  const std::size_t root = holder.find(": ");
  const std::size_t module = holder.find_first_of(".[");
  const std::string_view path = root != npos                              ? holder.substr(root + 2)
                                : module != npos && holder[module] == '.' ? holder.substr(module + 1)
                                : module != npos                          ? holder.substr(module)
                                                                          : std::string_view();
  add(path.substr(0, path.find_first_of(" [")));
  for (std::size_t at = path.find('['); at != npos; at = path.find('[', at + 1)) {
    const std::size_t close = path.find(']', at);
    if (close == npos || close < at + 4) continue;
    const std::string_view key = path.substr(at + 2, close - at - 3);  // ['stack'], or <trail> of a context
    if (is_name(key)) names.insert(key);
  }
  return names;
}

/// A file of the user's through which the storages were made.
struct UserFile {
  UserFile(std::string_view name, std::string_view code, const std::set<std::size_t>& made_at)
      : site(name), source(code), values(source, made_at) {}
  std::string_view site;
  PythonSource source;
  MadeValues values;
};

struct FoundLine {
  const UserFile* file;
  const PythonSource::Line* line;
};
using FoundLines = std::vector<FoundLine>;

template <class Counts>
void add_lines(const UserFile& file, Counts counts, FoundLines& found) {
  for (const PythonSource::Line& line : file.source.lines()) {
    if (counts(line)) found.push_back({&file, &line});
  }
}

/// Those for which it holds, if there are any; else all.
template <class Holds>
FoundLines rather(FoundLines found, Holds holds) {
  if (std::ranges::any_of(found, holds)) std::erase_if(found, [&](const FoundLine& each) { return !holds(each); });
  return found;
}

bool uses_value(const FoundLine& found) {
  return found.file->values.names_one(*found.line) || found.file->values.makes(*found.line);
}

FoundLines statements_in(const UserFile& file, std::string_view holder) {
  FoundLines statements;
  const Target target = target_of(holder);
  if (target.name.empty()) return statements;
  add_lines(
      file,
      [&](const PythonSource::Line& line) {
        const bool counts = target.function.empty() || file.source.is_within(line, target.function);
        return counts && puts_into(line.bare, target);
      },
      statements);
  return statements;
}

bool puts_into_one_of(std::string_view line, const std::set<std::string_view>& names) {
  return std::ranges::any_of(names, [line](std::string_view name) { return puts_into(line, {name, {}, false}); });
}

/// Statements that use an object of the path: they call one of its methods, or give it an entry.
FoundLines uses_in(const UserFile& file, std::string_view holder) {
  const std::set<std::string_view> names = names_of(holder);
  FoundLines uses;
  add_lines(
      file,
      [&](const PythonSource::Line& line) {
        return puts_into_one_of(line.bare, names) || calls_one_of(line.bare, names);
      },
      uses);
  return uses;
}

/// Statements that give an object of the path what was made: by a call of which nothing has the result, or an entry.
FoundLines gifts_in(const UserFile& file, std::string_view holder) {
  const std::set<std::string_view> names = names_of(holder);
  FoundLines gifts;
  add_lines(
      file,
      [&](const PythonSource::Line& line) {
        if (file.values.names_one(line) && puts_into_one_of(line.bare, names)) return true;
        const bool has_one =
            std::ranges::any_of(names, [&](std::string_view name) { return has_name(line.bare, name); });
        return has_one && file.values.passes_one(line);
      },
      gifts);
  return gifts;
}

/// The functions that have one of the statements, but not the one with the variable that leads to the holder: calls of
/// the others are on the way to it.
std::set<std::string_view> functions_of(const FoundLines& statements, std::string_view holder) {
  std::set<std::string_view> functions;
  const std::string_view root = holder.substr(0, std::min(holder.find(": "), holder.size()));
  const std::string_view own = root.size() < holder.size() ? root.substr(root.rfind('.') + 1) : std::string_view();
  for (const FoundLine& each : statements) {
    const std::string_view function = each.file->source.function_of(*each.line);
    if (!function.empty() && function != own) functions.insert(function);
  }
  return functions;
}

/// Files of the user's.
class Files {
 public:
  /// Those through which storages were made.
  Files(const TraceData& data, const std::vector<StackId>& made_at) : data_(data), made_at_(made_at) {
    std::map<StringId, std::set<std::size_t>> lines;
    each_frame([&](const Frame& frame, StackId) { lines[frame.file].insert(static_cast<std::size_t>(frame.line)); });
    for (const SourceFile& source : data.sources) {
      if (const auto made = lines.find(source.path); made != lines.end()) {
        add(source, made->second, files_);
      } else {
        add(source, {}, others_);
      }
    }
  }
  /// All that the trace has.
  explicit Files(const TraceData& data) : data_(data) {
    for (const SourceFile& source : data.sources) add(source, {}, files_);
  }

  template <class In>
  [[nodiscard]] FoundLines all(In in) const {
    return found_in(files_, in);
  }

  /// The same of the files through which no storage was made.
  template <class In>
  [[nodiscard]] FoundLines others(In in) const {
    return found_in(others_, in);
  }

  /// The lines that called one of the functions when it made a storage.
  [[nodiscard]] FoundLines callers_of(const std::set<std::string_view>& functions) const {
    FoundLines callers;
    bool is_called = false;
    StackId last;
    each_frame([&](const Frame& frame, StackId stack) {
      const FoundLine at = line_of(frame);
      if (std::exchange(last, stack) != stack) is_called = false;
      if (at.line == nullptr) return;
      const auto same = [&](const FoundLine& each) { return each.line == at.line; };
      if (is_called && std::ranges::none_of(callers, same)) callers.push_back(at);
      is_called = functions.contains(at.file->source.function_of(*at.line));
    });
    return callers;
  }

 private:
  template <class In>
  static FoundLines found_in(const std::deque<UserFile>& files, In in) {
    FoundLines found;
    for (const UserFile& file : files) std::ranges::move(in(file), std::back_inserter(found));
    return found;
  }

  void add(const SourceFile& source, const std::set<std::size_t>& made_at, std::deque<UserFile>& to) {
    const std::string_view path = data_.text(source.path);
    if (is_library_file(path) || is_compiler_output(path)) return;
    by_path_[source.path] = &to.emplace_back(short_path(path, 1), source.text, made_at);
  }

  template <class Visit>
  void each_frame(Visit visit) const {
    for (const StackId id : made_at_) {
      for (const Stack* stack = data_.stacks.find(id); stack != nullptr; stack = data_.stacks.find(stack->parent)) {
        if (const Frame* frame = data_.frames.find(stack->frame)) visit(*frame, id);
      }
    }
  }

  [[nodiscard]] FoundLine line_of(const Frame& frame) const {
    const auto file = by_path_.find(frame.file);
    const auto number = static_cast<std::size_t>(frame.line);
    if (file == by_path_.end() || number == 0 || number > file->second->source.lines().size()) return {};
    return {file->second, &file->second->source.lines()[number - 1]};
  }

  const TraceData& data_;
  const std::span<const StackId> made_at_;
  std::deque<UserFile> files_, others_;
  std::map<StringId, const UserFile*> by_path_;
};

/// Calls of the functions that have the statements: those that made a storage; else those in the text.
FoundLines calls_of(const Files& files, const FoundLines& statements, std::string_view holder) {
  const std::set<std::string_view> functions = functions_of(statements, holder);
  FoundLines calls = files.callers_of(functions);
  if (!calls.empty()) return calls;
  // `opt.step()` is no call of the program's own `step`, unless it is given what was made.
  std::set<std::string_view> objects = names_of(holder);
  objects.insert({"", "self", "cls"});
  calls = files.all([&](const UserFile& file) {
    FoundLines found;
    add_lines(
        file,
        [&](const PythonSource::Line& line) {
          const bool is_given = file.values.names_one(line);
          return std::ranges::any_of(functions, [&](std::string_view function) {
            return calls_function(line.bare, function,
                                  [&](std::string_view object) { return is_given || objects.contains(object); });
          });
        },
        found);
    return found;
  });
  return rather(std::move(calls), uses_value);
}

FoundLines passes_in(const UserFile& file, bool only_it) {
  FoundLines found;
  for (const PythonSource::Line* line : file.values.passes(only_it)) found.push_back({&file, line});
  return found;
}

std::vector<StoringStatement> texts_of(const FoundLines& found) {
  std::vector<StoringStatement> texts;
  for (const FoundLine& each : found) texts.push_back(statement(each.file->site, *each.line));
  return texts;
}

/// "features" of "main.Encoder.features (lru_cache)"; empty: the holder is no cache of a function's results.
std::string_view cached_function(std::string_view holder) {
  const std::size_t end = holder.find(kResults);
  if (end == npos) return {};
  const std::string_view path = holder.substr(0, end);
  return path.substr(path.find_last_of(".: ") + 1);
}

Storing stored_in(const Files& files, std::string_view holder) {
  if (const std::string_view function = cached_function(holder); !function.empty()) {
    // Who calls the function has its result put into the cache.
    if (FoundLines callers = files.callers_of({function}); !callers.empty()) return {texts_of(callers), {}};
  }
  const auto in = [&](auto search) { return files.all([&](const UserFile& file) { return search(file, holder); }); };
  FoundLines statements = rather(in(statements_in), uses_value);
  // A callback, a metric or a cache in a file of its own stores what was made elsewhere.
  if (statements.empty()) {
    statements = files.others([&](const UserFile& file) { return statements_in(file, holder); });
  }
  FoundLines calls = calls_of(files, statements, holder);
  // How what was made comes to the statement, or to a place that no statement of the user's files names. A statement in
  // a function without it has it by a parameter: what was only computed from it says nothing then.
  const auto is_known = [](const FoundLine& each) { return each.file->values.is_known_at(*each.line); };
  const bool has_parameter = !statements.empty() && std::ranges::none_of(statements, is_known);
  FoundLines passes = files.all([&](const UserFile& file) { return passes_in(file, has_parameter); });
  if (statements.empty()) statements = in(gifts_in);
  if (statements.empty()) {
    FoundLines uses = rather(in(uses_in), uses_value);
    if (passes.empty() || std::ranges::any_of(uses, uses_value)) statements = std::move(uses);
  }
  const bool is_shown = std::ranges::any_of(statements, uses_value) || !calls.empty();
  if (!is_shown) calls = std::move(passes);
  return {texts_of(statements), texts_of(calls)};
}

}  // namespace

std::vector<StoringStatement> storing_statements(std::string_view code, std::string_view site,
                                                 std::string_view holder) {
  const UserFile file(site, code, {});
  return texts_of(statements_in(file, holder));
}

std::vector<StoringStatement> calls_on_path(std::string_view code, std::string_view site, std::string_view holder) {
  const UserFile file(site, code, {});
  return texts_of(uses_in(file, holder));
}

Storing stored_by(const TraceData& data, std::string_view holder, const std::vector<StackId>& made_at) {
  return stored_in(Files(data, made_at), holder);
}

Storing stored_by(const TraceData& data, std::string_view holder) {
  // Of "run: main.gi_frame main: rows", the function that has the variable is the suspended one.
  const std::size_t root = holder.rfind(": "), function = holder.rfind(' ', root == npos ? npos : root - 1);
  const bool is_inside = root != npos && root != holder.find(": ") && function != npos;
  return stored_in(Files(data), is_inside ? holder.substr(function + 1) : holder);
}

}  // namespace dcmt::analyzer
