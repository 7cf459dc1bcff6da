#include "analyzer/rules/python_source.h"

#include <algorithm>
#include <cctype>

namespace dcmt::analyzer {
namespace {

constexpr std::size_t npos = std::string_view::npos;

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

/// The names of a target: "a" and "b" of "a, (b, c.d)" without what is in an object.
void add_names(std::string_view target, std::set<std::string_view>& names) {
  for (std::string_view part : parts_of(target, ",")) {
    if (part.starts_with('*')) part = trimmed(part.substr(1));
    const bool in_brackets = part.size() > 1 && (part.front() == '(' || part.front() == '[');
    if (in_brackets) {
      add_names(part.substr(1, part.size() - 2), names);
    } else if (is_name(part)) {
      names.insert(part);
    }
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

std::set<std::string_view> names_given_by(std::string_view code) {
  std::set<std::string_view> names;
  for (std::string_view statement : parts_of(code, ";")) {
    // "for x in loader:", and "if a: b = 1"
    if (statement.starts_with("for ")) add_names(statement.substr(4, statement.find(" in ") - 4), names);
    std::size_t from = 0;
    for (std::size_t at = equal_sign(statement, 0); at != npos; at = equal_sign(statement, at + 1)) {
      const std::vector<std::string_view> target = parts_of(statement.substr(from, at - from), ":");
      add_names(target.front(), names);  // "x: Tensor = …"
      add_names(target.back(), names);   // "if a: b = 1"
      from = at + 1;
    }
  }
  return names;
}

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
  constexpr std::string_view kDel = "del ";
  for (const std::string_view statement : parts_of(statements, ";:")) {
    if (statement.starts_with(kDel)) add_names(statement.substr(kDel.size()), function.deleted);
  }
}

std::string_view PythonSource::statement_of(const Line& line) const {
  std::size_t last = line.statement;
  while (last + 1 < lines_.size() && lines_[last + 1].statement == line.statement) ++last;
  const std::string_view first = lines_[line.statement].bare, end = lines_[last].bare;
  return {first.data(), static_cast<std::size_t>(end.data() + end.size() - first.data())};
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

}  // namespace dcmt::analyzer
