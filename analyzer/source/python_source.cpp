#include "analyzer/source/python_source.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

namespace dcmt::analyzer {
namespace {

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

/// The name after "def"; empty: the line defines no function.
std::string_view defined_function(std::string_view line) {
  if (line.starts_with("async ")) line = trimmed(line.substr(6));
  if (!line.starts_with("def ")) return {};
  line = trimmed(line.substr(4));
  return line.substr(0, static_cast<std::size_t>(std::ranges::find_if_not(line, is_of_name) - line.begin()));
}

int depth_change(char letter) {
  if (letter == '(' || letter == '[' || letter == '{') return 1;
  return letter == ')' || letter == ']' || letter == '}' ? -1 : 0;
}

/// The single targets of "a, (b, c.d)".
template <class Visit>
void each_target(std::string_view targets, Visit visit) {
  for (std::string_view part : parts_of(targets, ",")) {
    if (part.starts_with('*')) part = trimmed(part.substr(1));
    const bool in_brackets = part.size() > 1 && (part.front() == '(' || part.front() == '[');
    if (in_brackets) {
      each_target(part.substr(1, part.size() - 2), visit);
    } else {
      visit(part);
    }
  }
}

/// The names of a target: "a" and "b" of "a, (b, c.d)" without what is in an object.
void add_targets(std::string_view target, std::set<std::string_view>& names) {
  each_target(target, [&](std::string_view each) {
    if (is_name(each)) names.insert(each);
  });
}

/// What is left of each sign that gives a value.
template <class Visit>
void each_given(std::string_view statement, Visit visit) {
  std::size_t from = 0;
  for (std::size_t at = equal_sign(statement, 0); at != npos; at = equal_sign(statement, at + 1)) {
    const std::vector<std::string_view> target = parts_of(statement.substr(from, at - from), ":");
    visit(target.front());                        // "x: Tensor = …"
    if (target.size() > 1) visit(target.back());  // "if a: b = 1"
    from = at + 1;
  }
}

}  // namespace

bool is_of_name(char letter) { return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_'; }

bool is_name(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::ranges::all_of(text, is_of_name);
}

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t\r\n");
  if (from == npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r\n") - from + 1);
}

bool has_name(std::string_view code, std::string_view name) {
  return any_place_of(code, name, [](std::string_view before, std::string_view) { return !before.ends_with('.'); });
}

std::vector<std::string_view> parts_of(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  int depth = 0;
  std::size_t from = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += depth_change(text[i]);
    if (depth > 0 || separators.find(text[i]) == npos) continue;
    parts.push_back(trimmed(text.substr(from, i - from)));
    from = i + 1;
  }
  parts.push_back(trimmed(text.substr(from)));
  return parts;
}

std::size_t equal_sign(std::string_view text, std::size_t from) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += depth_change(text[i]);
    if (depth > 0 || i < from || text[i] != '=') continue;
    const bool compares = (i + 1 < text.size() && text[i + 1] == '=') ||
                          (i > 0 && std::string_view("=<>!+-*/%&|^@:").find(text[i - 1]) != npos);
    if (!compares) return i;
  }
  return npos;
}

std::size_t behind_brackets(std::string_view code, std::size_t at) {
  for (int depth = 0; at < code.size(); ++at) {
    depth += depth_change(code[at]);
    if (depth == 0) return at + 1;
  }
  return npos;
}

std::set<std::string_view> names_given_by(std::string_view code) {
  std::set<std::string_view> names;
  for (std::string_view statement : parts_of(code, ";")) {
    // "for x in loader:", and "if a: b = 1"
    if (statement.starts_with("for ")) add_targets(statement.substr(4, statement.find(" in ") - 4), names);
    each_given(statement, [&](std::string_view target) { add_targets(target, names); });
  }
  return names;
}

std::set<std::string_view> attributes_given_by(std::string_view code) {
  std::set<std::string_view> names;
  for (const std::string_view statement : parts_of(code, ";")) {
    each_given(statement, [&](std::string_view target) {
      each_target(target, [&](std::string_view each) {
        const std::size_t dot = each.rfind('.');
        const bool is_one = each.find(' ') == npos;  // not "if a.b"
        if (is_one && dot != npos && is_name(each.substr(dot + 1))) names.insert(each.substr(dot + 1));
      });
    });
  }
  return names;
}

namespace {

constexpr std::string_view kDel = "del ";

/// The statements of a line between `;`, without "if a:" and the like before them.
std::vector<std::string_view> simple_statements_of(std::string_view line) {
  constexpr std::array<std::string_view, 10> kBlocks = {"if",      "elif", "else",  "try", "except",
                                                        "finally", "with", "while", "def", "class"};
  std::vector<std::string_view> statements;
  for (const std::string_view part : parts_of(line, ";")) {
    const std::vector<std::string_view> parts = parts_of(part, ":");
    const std::string_view first = parts.front().substr(0, parts.front().find_first_of(" ("));
    const bool is_block = std::ranges::find(kBlocks, first) != kBlocks.end();
    statements.push_back(is_block ? parts.back() : part);
  }
  return statements;
}

/// True for "x += 1", which may change a value or give one.
bool changes_a_value(std::string_view statement) {
  int depth = 0;
  for (std::size_t i = 0; i + 1 < statement.size(); ++i) {
    depth += depth_change(statement[i]);
    if (depth == 0 && statement[i + 1] == '=' && std::string_view("+-*/%&|^@").find(statement[i]) != npos) return true;
  }
  return false;
}

constexpr std::string_view kReturn = "return";

bool is_return(std::string_view statement) { return has_name(statement.substr(0, kReturn.size() + 1), kReturn); }

/// @param equal  its first sign that gives a value
PythonSource::Fate fate_in(std::string_view statement, std::size_t equal) {
  using Kind = PythonSource::Fate::Kind;
  for (const std::string_view word : {"for", "lambda", "yield", "await", "raise", "as"}) {
    if (has_name(statement, word)) return {};
  }
  if (changes_a_value(statement) || statement.find(":=") != npos) return {};
  if (is_return(statement)) return {Kind::kReturned};
  if (equal == npos) return {Kind::kDropped};
  const std::set<std::string_view> names = names_given_by(statement);
  if (names.size() != 1 || equal_sign(statement, equal + 1) != npos) return {};
  return {Kind::kNamed, *names.begin()};
}

/// True if the statement gives the variable's value to another one, `b = a`, or to who iterates.
bool gives_away(std::string_view statement, std::string_view variable) {
  if (has_name(statement, "yield")) return has_name(statement, variable);
  const std::size_t equal = equal_sign(statement, 0);
  return equal != npos && trimmed(statement.substr(equal + 1)) == variable && !names_given_by(statement).empty();
}

}  // namespace

PythonSource::PythonSource(std::string_view code) : bare_(without_texts(code)) {
  const std::string_view bare = bare_;
  std::size_t number = 1;
  for (std::size_t from = 0; from < bare.size(); ++number) {
    const std::size_t end = std::min(bare.find('\n', from), bare.size());
    const std::string_view line = bare.substr(from, end - from);
    // A comment behind the statement is not shown.
    const std::size_t last = line.find_last_not_of(" \t\r");
    add_line(number, line, trimmed(code.substr(from, last == npos ? 0 : last + 1)));
    from = end + 1;
  }
}

void PythonSource::add_line(std::size_t number, std::string_view bare, std::string_view text) {
  const std::size_t indent = bare.find_first_not_of(" \t\r");
  const bool continues = indent == npos || depth_ > 0;
  if (!continues) {
    while (!open_.empty() && open_.back().indent >= indent) open_.pop_back();
    if (const std::string_view name = defined_function(bare.substr(indent)); !name.empty()) {
      functions_.push_back({name, open_.empty() ? 0 : open_.back().function, {}});
      open_.push_back({indent, functions_.size() - 1});
    }
  }
  const std::size_t function = open_.empty() ? 0 : open_.back().function;
  const std::size_t statement = continues && !lines_.empty() ? lines_.back().statement : lines_.size();
  lines_.push_back({number, bare, text, function, statement});
  note_deleted(bare, functions_[function]);
  for (const char letter : bare) depth_ = std::max(0, depth_ + depth_change(letter));
}

void PythonSource::note_deleted(std::string_view statements, Function& function) {
  for (const std::string_view statement : parts_of(statements, ";:")) {
    if (statement.starts_with(kDel)) add_targets(statement.substr(kDel.size()), function.deleted);
  }
}

std::string_view PythonSource::statement_of(const Line& line) const {
  std::size_t last = line.statement;
  while (last + 1 < lines_.size() && lines_[last + 1].statement == line.statement) ++last;
  const std::string_view first = lines_[line.statement].bare, end = lines_[last].bare;
  return {first.data(), static_cast<std::size_t>(end.data() + end.size() - first.data())};
}

std::set<std::string_view> PythonSource::functions() const {
  std::set<std::string_view> names;
  for (const Function& each : functions_) names.insert(each.name);
  names.erase("");
  return names;
}

bool PythonSource::is_within(const Line& line, std::string_view function) const {
  for (std::size_t at = line.function; at != 0; at = functions_[at].around) {
    if (functions_[at].name == function) return true;
  }
  return false;
}

bool PythonSource::deletes_what_is_made_at(std::size_t number) const {
  if (number == 0 || number > lines_.size()) return false;
  const Line& line = lines_[number - 1];
  const std::set<std::string_view>& deleted = functions_[line.function].deleted;
  return !deleted.empty() && std::ranges::any_of(names_given_by(lines_[line.statement].bare),
                                                 [&](std::string_view name) { return deleted.contains(name); });
}

std::set<std::string_view> PythonSource::given_values_at(std::size_t number) const {
  if (number == 0 || number > lines_.size()) return {};
  const std::size_t first = lines_[number - 1].statement;
  for (std::size_t i = first; i < lines_.size() && lines_[i].statement == first; ++i) {
    const std::string_view line = lines_[i].bare;
    if (trimmed(line).starts_with("for ") || line.find(" for ") != npos) return {};
  }
  return names_given_by(lines_[first].bare);
}

std::size_t PythonSource::indent_at(std::size_t number) const {
  if (statement_at(number) != number) return npos;
  return lines_[number - 1].bare.find_first_not_of(" \t\r");
}

std::size_t PythonSource::end_of_block(std::size_t number) const {
  const std::size_t indent = indent_at(number);
  std::size_t last = number;
  for (std::size_t at = number + 1; at <= lines_.size(); ++at) {
    const std::size_t here = indent_at(at);
    if (here != npos && here <= indent) break;
    last = at;
  }
  return last;
}

bool PythonSource::is_loop(std::size_t number) const {
  if (number == 0 || number > lines_.size()) return false;
  const std::string_view line = trimmed(lines_[number - 1].bare);
  return line.starts_with("for ") || line.starts_with("while ") || line.starts_with("async for ");
}

std::size_t PythonSource::loop_around(std::size_t first, std::size_t last) const {
  std::size_t around = indent_at(statement_at(first));
  for (std::size_t at = statement_at(first); at > 0 && around != 0; --at) {
    const std::size_t indent = indent_at(at);
    if (indent == npos || indent >= around) continue;
    around = indent;
    if (is_loop(at) && last <= end_of_block(at)) return at;
  }
  return 0;
}

std::size_t PythonSource::statement_at(std::size_t number) const {
  return number > 0 && number <= lines_.size() ? lines_[lines_[number - 1].statement].number : 0;
}

std::set<std::string_view> PythonSource::deleted_with(std::size_t number, std::string_view variable) const {
  std::set<std::string_view> names;
  if (number == 0 || number > lines_.size()) return names;
  std::map<std::string_view, int> counts;
  for (const Line& line : lines_) {
    if (line.function != lines_[number - 1].function) continue;
    Function deleting;
    note_deleted(line.bare, deleting);
    for (const std::string_view name : deleting.deleted) ++counts[name];
    if (deleting.deleted.contains(variable)) names.merge(deleting.deleted);
  }
  std::erase_if(names, [&](std::string_view name) { return name != variable && counts[name] > 1; });
  if (counts[variable] > 1) return {variable};
  return names;
}

bool PythonSource::gives_to_another(std::size_t number, std::string_view variable) const {
  return any_statement(number, [&](std::string_view statement) {
    return (is_return(statement) && has_name(statement, variable)) || gives_away(statement, variable);
  });
}

bool PythonSource::returns(std::size_t number, std::string_view variable) const {
  bool returns = false;
  const bool gives = any_statement(number, [&](std::string_view statement) {
    const bool has_it = is_return(statement) && has_name(statement, variable);
    const bool is_it = has_it && trimmed(statement.substr(std::min(statement.size(), kReturn.size()))) == variable;
    returns |= is_it;
    return (has_it && !is_it) || gives_away(statement, variable);
  });
  return returns && !gives;
}

bool PythonSource::gives_once(std::size_t number, std::string_view variable) const {
  std::size_t count = 0;
  (void)any_statement(number, [&](std::string_view statement) {
    count += names_given_by(trimmed(statement)).contains(variable) ? 1 : 0;
    return false;
  });
  return count == 1;
}

bool PythonSource::returns_entry(std::size_t number) const {
  const std::size_t first = statement_at(number);
  if (first == 0) return false;
  return std::ranges::any_of(simple_statements_of(lines_[first - 1].bare), [&](std::string_view giving) {
    const std::size_t equal = equal_sign(giving, 0);
    const std::string_view entry = trimmed(giving.substr(0, std::min(equal, giving.size())));
    return equal != npos && entry.ends_with(']') && any_statement(number, [&](std::string_view statement) {
             return is_return(statement) &&
                    trimmed(statement.substr(std::min(statement.size(), kReturn.size()))) == entry;
           });
  });
}

bool PythonSource::any_statement(std::size_t number, const std::function<bool(std::string_view)>& is) const {
  if (number == 0 || number > lines_.size()) return false;
  return std::ranges::any_of(lines_, [&](const Line& line) {
    return line.function == lines_[number - 1].function && std::ranges::any_of(simple_statements_of(line.bare), is);
  });
}

PythonSource::Fate PythonSource::fate_of_what_is_made_at(std::size_t number) const {
  const std::size_t first = statement_at(number);
  if (first == 0) return {};
  // The name is in the first line, but words that make it unclear can be in all.
  for (std::size_t i = first; i < lines_.size() && lines_[i].statement == first - 1; ++i) {
    if (fate_in(trimmed(lines_[i].bare), npos).kind == Fate::Kind::kUnknown) return {};
  }
  Fate fate;
  for (const std::string_view statement : simple_statements_of(lines_[first - 1].bare)) {
    const std::size_t equal = equal_sign(statement, 0);
    const std::string_view made = statement.substr(equal == npos ? 0 : equal + 1);
    if (made.find_first_of("([+-*/@") == npos) continue;  // it makes nothing
    const Fate here = fate_in(statement, equal);
    // Which of several statements of a line has made it is unknown.
    if (here.kind == Fate::Kind::kUnknown || (fate.kind != Fate::Kind::kUnknown && fate != here)) return {};
    fate = here;
  }
  return fate;
}

}  // namespace dcmt::analyzer
