#include "analyzer/rules/stored_by.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "trace/base/code_path.h"
#include "trace/base/printable.h"

namespace dcmt::analyzer {
namespace {

constexpr std::size_t npos = std::string_view::npos;
constexpr std::size_t kLongestText = 100;  ///< of a statement, characters

constexpr std::array<std::string_view, 10> kPuttingCalls = {
    "append", "appendleft", "extend", "extendleft", "insert", "add", "update", "setdefault", "put", "put_nowait"};

bool is_word(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_'; }

bool is_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::ranges::all_of(text, is_word);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\r");
  if (from == npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

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

/// `code` with spaces in place of the contents of comments and strings. Lines and columns stay the same.
std::string without_texts(std::string_view code) {
  std::string bare(code);
  std::size_t i = 0;
  const auto blank = [&](std::size_t to) {
    for (; i < to && i < bare.size(); ++i) {
      if (bare[i] != '\n') bare[i] = ' ';
    }
  };
  while (i < code.size()) {
    if (code[i] == '#') {
      blank(std::min(code.find('\n', i), code.size()));
    } else if (code[i] == '"' || code[i] == '\'') {
      const std::string_view one = code.substr(i, 1), three = code.substr(i, 3);
      const bool is_long = three.size() == 3 && three[1] == one[0] && three[2] == one[0];
      const std::string_view quote = is_long ? three : one;
      std::size_t end = i + quote.size();
      while (end < code.size() && code.substr(end, quote.size()) != quote && (is_long || code[end] != '\n')) {
        end += code[end] == '\\' ? 2 : 1;
      }
      // The quotes stay, so that brackets around a string are not empty.
      i += quote.size();
      blank(std::min(end, code.size()));
      i = std::min(end + quote.size(), code.size());
    } else {
      ++i;
    }
  }
  return bare;
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
    const std::size_t end = std::ranges::find_if_not(rest, is_word) - rest.begin();
    const std::string_view call = rest.substr(0, end);
    rest = rest.substr(end);
    return rest.starts_with('(') && std::ranges::find(kPuttingCalls, call) != kPuttingCalls.end();
  }
  if (rest.starts_with("+=") || rest.starts_with("|=")) return true;
  return entry && rest.starts_with('=') && !rest.starts_with("==");
}

bool puts_into(std::string_view line, const Target& target) {
  for (std::size_t at = line.find(target.name); at != npos; at = line.find(target.name, at + 1)) {
    const std::size_t end = at + target.name.size();
    const char before = at == 0 ? ' ' : line[at - 1];
    if (is_word(before) || (end < line.size() && is_word(line[end]))) continue;
    const bool of_object = before == '.';
    // A module's variable is an attribute if another module names it.
    const bool fits = target.attribute ? of_object : target.function.empty() || !of_object;
    if (fits && puts(line.substr(end))) return true;
  }
  return false;
}

/// Tracks by indentation which lines are in a function of a name.
class WithinFunction {
 public:
  explicit WithinFunction(std::string_view name) : name_(name) {}

  bool contains(std::string_view line) {
    if (name_.empty()) return true;
    const std::size_t indent = line.find_first_not_of(" \t\r");
    if (indent == npos) return inside_;
    if (inside_ && indent <= indent_ && !line.substr(indent).starts_with(')')) inside_ = false;
    if (!inside_ && defines(line.substr(indent))) {
      inside_ = true;
      indent_ = indent;
    }
    return inside_;
  }

 private:
  [[nodiscard]] bool defines(std::string_view line) const {
    if (line.starts_with("async ")) line = trimmed(line.substr(6));
    if (!line.starts_with("def ")) return false;
    line = trimmed(line.substr(4));
    return line.starts_with(name_) && trimmed(line.substr(name_.size())).starts_with('(');
  }

  std::string_view name_;
  bool inside_ = false;
  std::size_t indent_ = 0;
};

/// Tracks by indentation in which function lines are.
class EnclosingFunction {
 public:
  /// The name of the innermost function that has this line; empty: none.
  std::string_view of(std::string_view line) {
    const std::size_t indent = line.find_first_not_of(" \t\r");
    if (indent == npos) return {};
    while (!functions_.empty() && functions_.back().first >= indent) functions_.pop_back();
    std::string_view text = line.substr(indent);
    if (text.starts_with("async ")) text = trimmed(text.substr(6));
    if (text.starts_with("def ")) {
      text = trimmed(text.substr(4));
      functions_.emplace_back(indent, text.substr(0, std::ranges::find_if_not(text, is_word) - text.begin()));
    }
    return functions_.empty() ? std::string_view() : functions_.back().second;
  }

 private:
  std::vector<std::pair<std::size_t, std::string_view>> functions_;  ///< with their indentations
};

/// Calls `visit(number, line without texts, line)` for each line of `code`, from 1.
void each_line(std::string_view code, std::string_view bare, auto&& visit) {
  std::size_t number = 1;
  for (std::size_t from = 0; from < bare.size(); ++number) {
    const std::size_t end = std::min(bare.find('\n', from), bare.size());
    const std::string_view line = bare.substr(from, end - from);
    // A comment behind the statement is not shown.
    const std::size_t last = line.find_last_not_of(" \t\r");
    visit(number, line, trimmed(code.substr(from, last == npos ? 0 : last + 1)));
    from = end + 1;
  }
}

StoringStatement statement(std::string_view site, std::size_t number, std::string_view text) {
  return {std::string(site) + ":" + std::to_string(number), printable(text.substr(0, kLongestText))};
}

/// True if the line calls one of the names, or, where `methods`, a method of one.
bool calls_one_of(std::string_view line, const std::set<std::string_view>& names, bool methods) {
  const std::string_view text = trimmed(line);
  if (text.starts_with("def ") || text.starts_with("async def ") || text.starts_with("class ")) return false;
  for (const std::string_view name : names) {
    for (std::size_t at = line.find(name); at != npos; at = line.find(name, at + 1)) {
      if (at > 0 && (is_word(line[at - 1]) || (methods && line[at - 1] == '.'))) continue;
      std::string_view rest = line.substr(at + name.size());
      if (methods && rest.starts_with('.')) {
        rest.remove_prefix(1);
        rest.remove_prefix(static_cast<std::size_t>(std::ranges::find_if_not(rest, is_word) - rest.begin()));
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
  std::string_view path = root == npos ? holder.substr(std::min(holder.find('.'), holder.size() - 1) + 1)
                                       : holder.substr(root + 2);
  path = path.substr(0, path.find_first_of(" ["));
  while (!path.empty()) {
    const std::string_view name = path.substr(0, path.find('.'));
    if (is_name(name) && !name.starts_with("__")) names.insert(name);
    path.remove_prefix(std::min(name.size() + 1, path.size()));
  }
  return names;
}

}  // namespace

std::vector<StoringStatement> storing_statements(std::string_view code, std::string_view site,
                                                 std::string_view holder) {
  std::vector<StoringStatement> statements;
  const Target target = target_of(holder);
  if (target.name.empty()) return statements;
  const std::string bare = without_texts(code);
  WithinFunction within(target.function);
  each_line(code, bare, [&](std::size_t number, std::string_view line, std::string_view text) {
    if (within.contains(line) && puts_into(line, target)) statements.push_back(statement(site, number, text));
  });
  return statements;
}

std::vector<StoringStatement> calls_on_path(std::string_view code, std::string_view site, std::string_view holder) {
  std::vector<StoringStatement> calls;
  const std::set<std::string_view> names = names_of(holder);
  const std::string bare = without_texts(code);
  each_line(code, bare, [&](std::size_t number, std::string_view line, std::string_view text) {
    if (calls_one_of(line, names, true)) calls.push_back(statement(site, number, text));
  });
  return calls;
}

Storing stored_by(const TraceData& data, std::string_view holder, const std::vector<StackId>& made_at) {
  std::set<StringId> files;
  for (StackId id : made_at) {
    for (const Stack* stack = data.stacks.find(id); stack != nullptr; stack = data.stacks.find(stack->parent)) {
      if (const Frame* frame = data.frames.find(stack->frame)) files.insert(frame->file);
    }
  }
  Storing storing;
  const auto each_file = [&](auto&& visit) {
    for (const SourceFile& source : data.sources) {
      if (!files.contains(source.path)) continue;
      const std::string_view path = data.text(source.path);
      if (!is_library_file(path) && !is_compiler_output(path)) visit(source.text, short_path(path, 1));
    }
  };
  const auto add = [](std::vector<StoringStatement> from, std::vector<StoringStatement>& to) {
    std::ranges::move(from, std::back_inserter(to));
  };
  each_file([&](std::string_view code, std::string_view site) {
    add(storing_statements(code, site, holder), storing.statements);
  });
  if (storing.statements.empty()) {
    each_file([&](std::string_view code, std::string_view site) {
      add(calls_on_path(code, site, holder), storing.statements);
    });
    return storing;
  }
  std::set<std::string, std::less<>> functions;
  each_file([&](std::string_view code, std::string_view site) {
    EnclosingFunction enclosing;
    const std::string bare = without_texts(code);
    each_line(code, bare, [&](std::size_t number, std::string_view line, std::string_view text) {
      const std::string_view function = enclosing.of(line);
      const bool stores = std::ranges::find(storing.statements, statement(site, number, text)) != storing.statements.end();
      if (stores && !function.empty() && function != target_of(holder).function) functions.emplace(function);
    });
  });
  const std::set<std::string_view> names(functions.begin(), functions.end());
  each_file([&](std::string_view code, std::string_view site) {
    const std::string bare = without_texts(code);
    each_line(code, bare, [&](std::size_t number, std::string_view line, std::string_view text) {
      if (calls_one_of(line, names, false)) storing.calls.push_back(statement(site, number, text));
    });
  });
  return storing;
}

}  // namespace dcmt::analyzer
