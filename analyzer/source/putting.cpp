#include "analyzer/source/putting.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <string>

#include "analyzer/source/python_source.h"

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
constexpr std::array<std::string_view, 2> kEntryCalls = {".setdefault(", ".get("};
constexpr std::array<std::string_view, 4> kUsingCalls = {".values()", ".items()", ".get(", ".copy()"};

/// The name with which the text ends; empty if it ends with something else.
std::string_view last_word(std::string_view text) {
  return {std::find_if_not(text.rbegin(), text.rend(), is_of_name).base(), text.end()};
}

/// The text without the object with which it ends: "torch.cat(" for "torch.cat(self.net.".
std::string_view before_object(std::string_view text) {
  const auto is_of_object = [](char letter) { return is_of_name(letter) || letter == '.'; };
  return {text.begin(), std::find_if_not(text.rbegin(), text.rend(), is_of_object).base()};
}

/// The text without the name with which it begins.
std::string_view behind_name(std::string_view text) { return {std::ranges::find_if_not(text, is_of_name), text.end()}; }

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

/// True for `name = [*name, x]` and `name = Link(x, name)`, from behind the first name. Not for a part of it, `name =
/// name.next`.
bool renews(std::string_view rest, std::string_view name) {
  rest = trimmed(rest);
  if (!rest.starts_with('=') || rest.starts_with("==")) return false;
  const auto is_of_object = [](char letter) { return is_of_name(letter) || letter == '.'; };
  if (std::ranges::all_of(trimmed(rest.substr(1)), is_of_object)) return false;
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
  return std::ranges::find(kPuttingFunctions, last_word(before)) != kPuttingFunctions.end();
}

/// As any_place_of(), where the name may be that of the target.
template <class Is>
bool any_place(std::string_view line, const PathEnd& target, Is is) {
  return any_place_of(line, target.name, [&](std::string_view before, std::string_view rest) {
    const bool of_object = before.ends_with('.');
    // A module's variable is an attribute if another module names it.
    const bool fits = target.attribute ? of_object : target.function.empty() || !of_object;
    return fits && is(before, rest);
  });
}

bool puts_into_part(std::string_view line, const PathEnd& target) {
  return any_place(line, target, [&](std::string_view before, std::string_view rest) {
    return puts(rest) || (!target.is_parameter && renews(rest, target.name)) || is_put_into(before);
  });
}

/// True for "for x in self." and "torch.cat(self.", but not for "len(self.".
bool is_given_on(std::string_view before) {
  before = trimmed(before.ends_with('.') ? before_object(before) : before);
  if (before.ends_with(',') || before.ends_with('*')) return true;
  if (before.ends_with('(')) {
    before.remove_suffix(1);
    return std::ranges::find(kCountingFunctions, last_word(before)) == kCountingFunctions.end();
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

/// True if what the text, which follows the name, makes of it is the same object, or one of its entries.
bool is_itself_or_entry(std::string_view rest, bool in_loop) {
  rest = trimmed(rest);
  if (in_loop) return rest.starts_with(".values()") || rest.starts_with(':');
  if (rest.empty() || rest.starts_with(',') || rest.starts_with(')') || rest.starts_with("if ")) return true;
  const bool calls = std::ranges::any_of(kEntryCalls, [&](auto call) { return rest.starts_with(call); });
  if (!rest.starts_with('[') && !calls) return false;
  const std::size_t behind = behind_brackets(rest, rest.find_first_of("[("));
  return behind != npos && trimmed(rest.substr(behind)).empty();
}

/// True if the text, which precedes an object, leaves it as it is: "(" of a tuple, but not "len(".
bool leaves_as_it_is(std::string_view before) {
  before = trimmed(before);
  if (before.empty() || before.ends_with(',') || before.ends_with(" else")) return true;
  return before.ends_with('(') && last_word(trimmed(before.substr(0, before.size() - 1))).empty();
}

constexpr std::array<std::string_view, 5> kAddingWords = {"add", "append", "attach", "push", "register"};
/// Shorter names are words of other names, too.
constexpr std::size_t kShortestOne = 4;
constexpr std::string_view kRegistry = "registry";

/// Without underscores and capitals: "addhandler" of "addHandler" and "add_handler".
std::string in_one_word(std::string_view name) {
  std::string word;
  for (const char letter : name) {
    if (letter != '_') word += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return word;
}

/// One of a collection's entries, in one word: "handler" of "handlers", "entry" of "_entries", "kl" of "_KL_REGISTRY";
/// empty: its name is in the singular, or too short.
std::string one_of(std::string_view collection) {
  std::string word = in_one_word(collection);
  if (word.ends_with(kRegistry)) return word.substr(0, word.size() - kRegistry.size());
  if (!word.ends_with('s') || word.ends_with("ss")) return {};
  word.pop_back();
  if (word.ends_with("ie")) word.replace(word.size() - 2, 2, "y");
  return word.size() >= kShortestOne ? word : std::string();
}

bool is_definition(std::string_view line) {
  const std::string_view text = trimmed(line);
  return text.starts_with("def ") || text.starts_with("async def ") || text.starts_with("class ");
}

}  // namespace

bool puts_into(std::string_view line, const PathEnd& target) {
  return std::ranges::any_of(parts_of(line, ";"), [&](std::string_view part) { return puts_into_part(part, target); });
}

std::set<std::string_view> other_names_of(std::string_view line, const PathEnd& target) {
  const std::string_view code = trimmed(line);
  const bool in_loop = code.starts_with("for ");
  const std::size_t in = code.find(" in "), equal = equal_sign(code, 0), end = in_loop ? in : equal;
  if (end == npos) return {};
  const std::size_t begin = in_loop ? in + 4 : equal + 1;
  const bool has_it = any_place(code.substr(begin), target, [&](std::string_view before, std::string_view rest) {
    return leaves_as_it_is(before_object(before)) && is_itself_or_entry(rest, in_loop);
  });
  return has_it ? names_given_by(code) : std::set<std::string_view>();
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
  const auto calls = [&](std::string_view before, std::string_view rest) {
    if (rest.starts_with('.')) rest = behind_name(rest.substr(1));
    return !before.ends_with('.') && rest.starts_with('(') && with(rest.substr(0, behind_brackets(rest, 0)));
  };
  return std::ranges::any_of(names, [&](std::string_view name) { return any_place_of(line, name, calls); });
}

bool calls_method_of(std::string_view line, const std::set<std::string_view>& names) {
  if (is_definition(line)) return false;
  const auto calls = [](std::string_view, std::string_view rest) {
    if (!rest.starts_with('.')) return false;
    const std::string_view method = rest.substr(1), behind = behind_name(method);
    return behind.size() < method.size() && behind.starts_with('(');
  };
  return std::ranges::any_of(names, [&](std::string_view name) { return any_place_of(line, name, calls); });
}

bool passes_function(std::string_view line, const std::set<std::string_view>& functions, bool bound) {
  if (is_definition(line)) return false;
  const auto passes = [&](std::string_view before, std::string_view rest) {
    rest = trimmed(rest);
    if (before.empty() || (!rest.starts_with(',') && !rest.starts_with(')'))) return false;
    if (bound && !before.ends_with('.')) return false;
    // What precedes it, apart from its object, is the bracket of a call, or another argument.
    const std::string_view call = trimmed(before_object(before));
    return call.ends_with('(') ? call.size() > 1 && is_of_name(call[call.size() - 2])
                               : call.ends_with(',') || call.ends_with('=');
  };
  return std::ranges::any_of(functions, [&](std::string_view name) { return any_place_of(line, name, passes); });
}

bool adds_by_name(std::string_view line, const std::set<std::string_view>& collections) {
  if (is_definition(line)) return false;
  std::set<std::string> ones;
  for (const std::string_view each : collections) ones.insert(one_of(each));
  ones.erase("");
  for (std::size_t open = line.find('('); !ones.empty() && open != npos; open = line.find('(', open + 1)) {
    const std::string method = in_one_word(last_word(line.substr(0, open)));
    const bool adds =
        std::ranges::any_of(kAddingWords, [&](std::string_view word) { return method.starts_with(word); });
    const bool has_arguments = open + 1 < line.size() && line[open + 1] != ')';
    if (adds && has_arguments &&
        std::ranges::any_of(ones, [&](const std::string& one) { return method.ends_with(one); }))
      return true;
  }
  return false;
}

bool calls_function(std::string_view line, std::string_view function, const std::function<bool(std::string_view)>& of) {
  if (is_definition(line)) return false;
  return any_place_of(line, function, [&](std::string_view before, std::string_view rest) {
    const std::string_view object = before.substr(0, before.ends_with('.') ? before.size() - 1 : 0);
    return rest.starts_with('(') && of(last_word(object));
  });
}

bool make_something(std::string_view arguments) {
  return arguments.size() > 2 && arguments.find_first_of("([+-*/@", 1) != npos;
}

}  // namespace dcmt::analyzer
