#include "analyzer/rules/putting.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "analyzer/rules/python_source.h"

namespace dcmt::analyzer {
namespace {

constexpr std::array<std::string_view, 10> kPuttingCalls = {
    "append", "appendleft", "extend", "extendleft", "insert", "add", "update", "setdefault", "put", "put_nowait"};
/// These put something into their first argument.
constexpr std::array<std::string_view, 4> kPuttingFunctions = {"heappush", "insort", "insort_left", "insort_right"};

/// These count what they are given, or remove some of it.
constexpr std::array<std::string_view, 8> kCountingFunctions = {"len",        "bool",  "id",      "type",
                                                                "isinstance", "range", "heappop", "heapify"};
constexpr std::array<std::string_view, 5> kRemovingCalls = {".remove(", ".pop(", ".popleft(", ".clear(", ".discard("};
constexpr std::array<std::string_view, 4> kUsingCalls = {".values()", ".items()", ".get(", ".copy()"};

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

/// True if the text before the name calls a function that puts something into what follows: "heapq.heappush(self." and
/// the name.
bool is_put_into(std::string_view before) {
  const auto is_of_object = [](char letter) { return is_of_name(letter) || letter == '.'; };
  if (before.ends_with('.'))
    before = std::string_view(before.begin(), std::find_if_not(before.rbegin(), before.rend(), is_of_object).base());
  before = trimmed(before);
  if (!before.ends_with('(')) return false;
  before.remove_suffix(1);
  const auto last = std::find_if_not(before.rbegin(), before.rend(), is_of_name);
  return std::ranges::find(kPuttingFunctions, std::string_view(last.base(), before.end())) != kPuttingFunctions.end();
}

/// Calls visit(what is before the name, what is behind it) wherever the line has the name, until that is true.
template <class Visit>
bool any_place(std::string_view line, const PathEnd& target, Visit visit) {
  for (std::size_t at = line.find(target.name); at != npos; at = line.find(target.name, at + 1)) {
    const std::size_t end = at + target.name.size();
    const char before = at == 0 ? ' ' : line[at - 1];
    if (is_of_name(before) || (end < line.size() && is_of_name(line[end]))) continue;
    const bool of_object = before == '.';
    // A module's variable is an attribute if another module names it.
    const bool fits = target.attribute ? of_object : target.function.empty() || !of_object;
    if (fits && visit(line.substr(0, at), line.substr(end))) return true;
  }
  return false;
}

bool puts_into_part(std::string_view line, const PathEnd& target) {
  return any_place(line, target, [&](std::string_view before, std::string_view rest) {
    return puts(rest) || renews(rest, target.name) || is_put_into(before);
  });
}

/// True for "for x in self." and "torch.cat(self.", but not for "len(self.".
bool is_given_on(std::string_view before) {
  const auto is_of_object = [](char letter) { return is_of_name(letter) || letter == '.'; };
  const auto begin_of_word = [](std::string_view text, auto is_of_word) {
    return static_cast<std::size_t>(std::find_if_not(text.rbegin(), text.rend(), is_of_word).base() - text.begin());
  };
  if (before.ends_with('.')) before = before.substr(0, begin_of_word(before, is_of_object));
  before = trimmed(before);
  if (before.ends_with(',') || before.ends_with('*')) return true;
  if (before.ends_with('(')) {
    before.remove_suffix(1);
    const std::string_view call = before.substr(begin_of_word(before, is_of_name));
    return std::ranges::find(kCountingFunctions, call) == kCountingFunctions.end();
  }
  return before.ends_with(" in") && has_name(before, "for");
}

bool uses_entries_of(std::string_view before, std::string_view rest) {
  rest = trimmed(rest);
  if (rest.starts_with('[')) {
    const std::string_view behind = rest.substr(std::min(behind_brackets(rest, 0), rest.size()));
    const bool removes = std::ranges::any_of(kRemovingCalls, [&](auto call) { return behind.starts_with(call); });
    return !removes && !trimmed(before).starts_with("del ");
  }
  if (std::ranges::any_of(kUsingCalls, [&](std::string_view call) { return rest.starts_with(call); })) return true;
  const bool goes_on = rest.starts_with('.') || rest.starts_with('=') || rest.starts_with('(');
  return !goes_on && is_given_on(before);
}

bool is_definition(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.starts_with("def ") || text.starts_with("async def ") || text.starts_with("class ");
}

}  // namespace

bool puts_into(std::string_view line, const PathEnd& target) {
  return std::ranges::any_of(parts_of(line, ";"), [&](std::string_view part) { return puts_into_part(part, target); });
}

bool uses_entries(std::string_view line, const PathEnd& target) {
  return !is_definition(line) && !puts_into(line, target) && any_place(line, target, uses_entries_of);
}

bool puts_into_one_of(std::string_view line, const std::set<std::string_view>& names) {
  return std::ranges::any_of(names, [line](std::string_view name) { return puts_into(line, {name, {}, false}); });
}

bool calls_one_of(std::string_view line, const std::set<std::string_view>& names,
                  const std::function<bool(std::string_view)>& with) {
  if (is_definition(line)) return false;
  for (const std::string_view name : names) {
    for (std::size_t at = line.find(name); at != npos; at = line.find(name, at + 1)) {
      if (at > 0 && (is_of_name(line[at - 1]) || line[at - 1] == '.')) continue;
      std::string_view rest = line.substr(at + name.size());
      if (rest.starts_with('.')) {
        rest.remove_prefix(1);
        rest.remove_prefix(static_cast<std::size_t>(std::ranges::find_if_not(rest, is_of_name) - rest.begin()));
      }
      if (rest.starts_with('(') && with(rest.substr(0, behind_brackets(rest, 0)))) return true;
    }
  }
  return false;
}

bool calls_method_of(std::string_view line, const std::set<std::string_view>& names) {
  if (is_definition(line)) return false;
  for (const std::string_view name : names) {
    for (std::size_t at = line.find(name); at != npos; at = line.find(name, at + 1)) {
      if (at > 0 && is_of_name(line[at - 1])) continue;
      std::string_view rest = line.substr(at + name.size());
      if (!rest.starts_with('.')) continue;
      rest.remove_prefix(1);
      const std::size_t end = static_cast<std::size_t>(std::ranges::find_if_not(rest, is_of_name) - rest.begin());
      if (end > 0 && rest.substr(end).starts_with('(')) return true;
    }
  }
  return false;
}

bool passes_function(std::string_view line, const std::set<std::string_view>& functions, bool bound) {
  if (is_definition(line)) return false;
  for (const std::string_view name : functions) {
    for (std::size_t at = line.find(name); at != npos; at = line.find(name, at + 1)) {
      const std::string_view rest = trimmed(line.substr(at + name.size()));
      if (at == 0 || is_of_name(line[at - 1]) || rest.empty() || (rest.front() != ',' && rest.front() != ')')) continue;
      if (bound && line[at - 1] != '.') continue;
      // What precedes it, apart from its object, is the bracket of a call, or another argument.
      const std::string_view before = line.substr(0, at);
      const auto object =
          std::find_if_not(before.rbegin(), before.rend(), [](char each) { return is_of_name(each) || each == '.'; });
      const std::string_view call = trimmed(std::string_view(before.begin(), object.base()));
      if (call.ends_with('(') ? call.size() > 1 && is_of_name(call[call.size() - 2])
                              : call.ends_with(',') || call.ends_with('='))
        return true;
    }
  }
  return false;
}

bool calls_function(std::string_view line, std::string_view function, const std::function<bool(std::string_view)>& of) {
  if (is_definition(line)) return false;
  for (std::size_t at = line.find(function); at != npos; at = line.find(function, at + 1)) {
    if (!line.substr(at + function.size()).starts_with('(') || (at > 0 && is_of_name(line[at - 1]))) continue;
    const std::string_view before = line.substr(0, at > 0 && line[at - 1] == '.' ? at - 1 : 0);
    const auto begin = std::find_if_not(before.rbegin(), before.rend(), is_of_name).base();
    if (of(std::string_view(begin, before.end()))) return true;
  }
  return false;
}

}  // namespace dcmt::analyzer
