#include "analyzer/generated/generated_wrapper.h"

#include <fnmatch.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <utility>

namespace dcmt::analyzer {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) text.remove_prefix(1);
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.remove_suffix(1);
  return text;
}

bool is_identifier(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::all_of(text.begin(), text.end(), is_word);
}

struct Statement {
  std::int64_t line = 0;  ///< where it begins
  std::string text;       ///< without comments
  std::size_t indent = 0;
};

/// Cuts Python into statements: brackets and strings may go over lines, semicolons part them.
std::vector<Statement> statements_of(std::string_view text) {
  std::vector<Statement> statements;
  Statement now;
  std::int64_t line = 1;
  int depth = 0;
  std::size_t indent = 0;
  bool at_start = true;
  const auto end = [&] {
    now.text = std::string(trimmed(now.text));
    if (!now.text.empty()) statements.push_back(now);
    now = {line, "", indent};
  };
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\n') {
      ++line;
      if (depth == 0) {
        indent = 0;
        at_start = true;
        end();
      } else {
        now.text += ' ';
      }
      ++i;
      continue;
    }
    if (at_start && c == ' ') {
      now.indent = ++indent;
      ++i;
      continue;
    }
    at_start = false;
    if (c == '#') {
      while (i < text.size() && text[i] != '\n') ++i;
      continue;
    }
    if (c == '"' || c == '\'') {
      const std::string_view quote = text.substr(i, 3) == std::string(3, c) ? text.substr(i, 3) : text.substr(i, 1);
      std::size_t close = i + quote.size();
      while (close < text.size() && text.substr(close, quote.size()) != quote) close += text[close] == '\\' ? 2 : 1;
      close = std::min(close, text.size());
      line += std::count(text.begin() + static_cast<std::ptrdiff_t>(i),
                         text.begin() + static_cast<std::ptrdiff_t>(close), '\n');
      now.text += "''";
      i = std::min(close + quote.size(), text.size());
      continue;
    }
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') depth = std::max(depth - 1, 0);
    if (c == ';' && depth == 0) {
      end();
    } else {
      now.text += c;
    }
    ++i;
  }
  end();
  return statements;
}

/// Names in an expression, attributes left out.
std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_word(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    const bool attribute = i > 0 && text[i - 1] == '.';
    const std::string_view word = text.substr(i, end - i);
    if (!attribute && is_identifier(word)) names.emplace_back(word);
    i = end;
  }
  return names;
}

/// Where an assignment's "=" is; npos if the statement is none.
std::size_t assignment_at(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == ']' || c == '}') --depth;
    if (c != '=' || depth != 0) continue;
    const bool compares = (i + 1 < text.size() && text[i + 1] == '=') ||
                          (i > 0 && std::string_view("=!<>+-*/").find(text[i - 1]) != std::string_view::npos);
    return compares ? std::string_view::npos : i;
  }
  return std::string_view::npos;
}

/// A call of an operator: "torch.ops.mylib.wait.default(buf1, 0, 3)".
struct OperatorCall {
  std::string name;  ///< "mylib::wait"; empty: it is none
  std::string first_argument;
  std::vector<std::int64_t> numbers;  ///< arguments that are whole numbers
};

OperatorCall operator_call(std::string_view expression) {
  OperatorCall call;
  std::string_view rest = trimmed(expression);
  for (const std::string_view prefix : {std::string_view("torch.ops."), std::string_view("aten.")}) {
    if (!rest.starts_with(prefix)) continue;
    const std::size_t open = rest.find('(');
    if (open == std::string_view::npos) return call;
    std::string_view path =
        rest.substr(prefix == "aten." ? 0 : prefix.size(), open - (prefix == "aten." ? 0 : prefix.size()));
    const std::size_t dot = path.find('.');
    if (dot == std::string_view::npos) return call;
    std::string_view name = path.substr(dot + 1);
    name = name.substr(0, name.find('.'));
    call.name = std::string(path.substr(0, dot)) + "::" + std::string(name);
    std::string_view arguments = rest.substr(open + 1);
    if (const std::size_t close = arguments.rfind(')'); close != std::string_view::npos)
      arguments = arguments.substr(0, close);
    int depth = 0;
    std::size_t from = 0;
    bool first = true;
    for (std::size_t i = 0; i <= arguments.size(); ++i) {
      const char c = i < arguments.size() ? arguments[i] : ',';
      if (c == '(' || c == '[') ++depth;
      if (c == ')' || c == ']') --depth;
      if (c != ',' || depth > 0) continue;
      const std::string_view argument = trimmed(arguments.substr(from, i - from));
      if (first && is_identifier(argument)) call.first_argument = std::string(argument);
      if (!argument.empty() && argument.size() <= 18 &&
          std::all_of(argument.begin(), argument.end(), [](unsigned char d) { return std::isdigit(d) != 0; })) {
        call.numbers.push_back(std::stoll(std::string(argument)));
      }
      first = false;
      from = i + 1;
    }
    return call;
  }
  return call;
}

constexpr std::string_view kView = "reinterpret_tensor(";

/// The name whose storage the expression has; empty: a storage of its own, or of nobody known.
std::string aliased_by(std::string_view expression, const OperatorCall& call, const FirstArgumentOperators& operators) {
  const std::string_view text = trimmed(expression);
  if (is_identifier(text)) return std::string(text);
  if (text.starts_with(kView)) {
    const std::string_view first = text.substr(kView.size(), text.find(',') - kView.size());
    return is_identifier(trimmed(first)) ? std::string(trimmed(first)) : std::string();
  }
  // An element of what an operator returned.
  if (const std::size_t open = text.find('['); open != std::string_view::npos && text.ends_with(']')) {
    return is_identifier(text.substr(0, open)) ? std::string(text.substr(0, open)) : std::string();
  }
  const bool first_argument = std::any_of(
      operators.patterns.begin(), operators.patterns.end(),
      [&](const auto& pattern) { return !call.name.empty() && fnmatch(pattern.c_str(), call.name.c_str(), 0) == 0; });
  return first_argument ? call.first_argument : std::string();
}

/// `value` is what the statement assigns, or all of it.
bool calls_something(std::string_view text, std::string_view value) {
  if (text.find('(') == std::string_view::npos || text.starts_with("del ") || text.starts_with("return")) return false;
  if (trimmed(value).starts_with(kView)) return false;
  return !text.starts_with("assert_") && !text.starts_with("args.clear(") && !text.starts_with("with ");
}

/// The storages of one function, from its first statement to its return.
class Function {
 public:
  Function(std::string name, const FirstArgumentOperators& operators) : name_(std::move(name)), operators_(operators) {}

  void take(const Statement& statement) {
    const std::string& text = statement.text;
    if (text.starts_with("del ")) {
      for (const std::string& name : names_in(std::string_view(text).substr(4))) remove(name);
      return;
    }
    const bool returns = text.starts_with("return");
    if (returns) return_line_ = statement.line;
    const std::size_t equals = assignment_at(text);
    const std::string_view value =
        equals == std::string::npos ? std::string_view(text) : std::string_view(text).substr(equals + 1);
    for (const std::string& name : names_in(value)) {
      if (const auto bound = bound_.find(name); bound != bound_.end()) use(bound->second, statement.line, returns);
    }
    const OperatorCall call = operator_call(value);
    if (!call.name.empty()) calls_.emplace_back(statement.line, call);
    if (calls_something(text, value)) call_lines_.push_back(statement.line);
    if (equals != std::string::npos) assign(statement, trimmed(std::string_view(text).substr(0, equals)), value, call);
  }

  /// What is wrong with it; of a function without a return nothing.
  [[nodiscard]] std::vector<UndeletedStorage> undeleted() const {
    std::vector<UndeletedStorage> found;
    if (return_line_ == 0) return found;
    for (const Group& group : groups_) {
      UndeletedStorage storage;
      std::size_t names = 0;
      bool returned = false;
      for (const Name& name : names_) {
        if (&groups_[name.group] != &group) continue;
        ++names;
        returned = returned || name.returned;
        storage.last_use = std::max(storage.last_use, name.last_use);
        if (name.deleted) {
          storage.deleted.push_back(name.name);
        } else {
          storage.names.push_back({name.name, name.line, name.statement, name.aliases, name.last_use});
        }
      }
      storage.calls_after = std::count_if(call_lines_.begin(), call_lines_.end(),
                                          [&](std::int64_t line) { return line > storage.last_use; });
      if (names < 2 || returned || storage.names.empty() || storage.calls_after == 0) continue;
      storage.function = name_;
      storage.line = group.line;
      storage.statement = group.statement;
      storage.call = group.call.name;
      storage.return_line = return_line_;
      for (const auto& [line, call] : calls_) {
        const bool same = group.call.numbers.size() >= 2 && call.numbers.size() >= 2 &&
                          std::equal(group.call.numbers.begin(), group.call.numbers.begin() + 2, call.numbers.begin());
        if (same && line > group.line && call.name.find("release") != std::string::npos) {
          storage.release_line = line;
          break;
        }
      }
      found.push_back(std::move(storage));
    }
    return found;
  }

 private:
  struct Group {
    std::int64_t line;
    std::string statement;
    OperatorCall call;
  };
  struct Name {
    std::string name, statement, aliases;
    std::int64_t line = 0, last_use = 0;
    std::size_t group = 0;
    bool deleted = false, returned = false;
  };

  void use(std::size_t name, std::int64_t line, bool returns) {
    names_[name].last_use = line;
    names_[name].returned = names_[name].returned || returns;
  }

  void remove(const std::string& name) {
    if (const auto bound = bound_.find(name); bound != bound_.end()) {
      names_[bound->second].deleted = true;
      bound_.erase(bound);
    }
  }

  void assign(const Statement& statement, std::string_view target, std::string_view value, const OperatorCall& call) {
    const std::vector<std::string> targets = names_in(target);
    if (target.find_first_of("[.") != std::string_view::npos) return;
    const std::string source = aliased_by(value, call, operators_);
    const auto known = bound_.find(source);
    const bool alias = known != bound_.end() && targets.size() == 1;
    const std::size_t group = alias ? names_[known->second].group : groups_.size();
    for (const std::string& one : targets) {
      Name name;
      name.name = one;
      name.statement = statement.text;
      name.line = name.last_use = statement.line;
      if (alias) {
        name.group = group;
        name.aliases = source;
      } else {
        name.group = groups_.size();
        groups_.push_back({statement.line, statement.text, call});
      }
      remove(one);  // what it named before, it names no more
      bound_[one] = names_.size();
      names_.push_back(std::move(name));
    }
  }

  std::string name_;
  const FirstArgumentOperators& operators_;
  std::vector<Group> groups_;
  std::vector<Name> names_;
  std::map<std::string, std::size_t> bound_;
  std::vector<std::pair<std::int64_t, OperatorCall>> calls_;
  std::vector<std::int64_t> call_lines_;
  std::int64_t return_line_ = 0;
};

/// "call" or "partition_3" of "def call(self, args):"; empty: another statement.
std::string wrapper_name(std::string_view text) {
  if (!text.starts_with("def ") || !text.ends_with(':')) return {};
  const std::string_view name = trimmed(text.substr(4, text.find('(') - 4));
  const bool wrapper = name == "call" || name.starts_with("partition_");
  return wrapper && text.find("args)") != std::string_view::npos ? std::string(name) : std::string();
}

}  // namespace

bool is_generated_wrapper(std::string_view text) {
  const bool inductor =
      text.find("async_compile") != std::string_view::npos || text.find("torch._inductor") != std::string_view::npos;
  return inductor && text.find("def call(") != std::string_view::npos &&
         text.find("args.clear()") != std::string_view::npos;
}

std::vector<UndeletedStorage> undeleted_storages(std::string_view text, const FirstArgumentOperators& operators) {
  std::vector<UndeletedStorage> found;
  std::optional<Function> function;
  std::size_t indent = 0;  // of its "def"
  std::string class_name;
  const auto end = [&] {
    if (!function) return;
    for (UndeletedStorage& storage : function->undeleted()) found.push_back(std::move(storage));
    function.reset();
  };
  for (const Statement& statement : statements_of(text)) {
    if (function && statement.indent <= indent) end();
    if (statement.indent == 0) class_name.clear();
    if (statement.text.starts_with("class ")) {
      const std::vector<std::string> names = names_in(std::string_view(statement.text).substr(6));
      if (!names.empty()) class_name = names.front() + ".";
    }
    if (function) {
      function->take(statement);
    } else if (const std::string name = wrapper_name(statement.text); !name.empty()) {
      function.emplace(class_name + name, operators);
      indent = statement.indent;
    }
  }
  end();
  return found;
}

}  // namespace dcmt::analyzer
