#include "analyzer/source/common_names.h"

#include <algorithm>
#include <cctype>
#include <span>
#include <vector>

#include "analyzer/source/python_source.h"
#include "analyzer/storages/without_numbers.h"
#include "trace/base/cycle_text.h"

namespace dcmt::analyzer {
namespace {

constexpr std::size_t kLongestLink = 3;  // references

/// True for a reference inside an object of C, " (next)", that begins there.
bool is_inside(std::string_view rest) {
  if (!rest.starts_with(" (")) return false;
  const std::size_t end = rest.find(')');
  return end != std::string_view::npos && is_name(rest.substr(2, end - 2));
}

/// "main: head", ".before", "[1]", ".value"; "main: head", " (ahead)", " (next)"
std::vector<std::string_view> references_of(std::string_view path) {
  std::vector<std::string_view> references;
  const std::size_t root = path.find(": ");
  std::size_t from = 0;
  char quote = 0;
  for (std::size_t i = root == std::string_view::npos ? 0 : root + 2; i < path.size(); ++i) {
    if (quote != 0 || path[i] == '\'' || path[i] == '"') {
      quote = quote == 0 ? path[i] : quote == path[i] ? 0 : quote;
      continue;
    }
    if ((path[i] != '.' && path[i] != '[' && !is_inside(path.substr(i))) || i == from) continue;
    references.push_back(path.substr(from, i - from));
    from = i;
  }
  references.push_back(path.substr(from));
  return references;
}

struct Repeated {
  std::size_t from = 0, length = 0, times = 1;  // references
};

/// The longest repetition after the root.
Repeated longest_of(std::span<const std::string_view> references) {
  Repeated longest;
  for (std::size_t from = 1; from < references.size(); ++from) {
    for (std::size_t length = 1; length <= kLongestLink && from + 2 * length <= references.size(); ++length) {
      std::size_t times = 1;
      while (from + (times + 1) * length <= references.size() &&
             std::ranges::equal(references.subspan(from, length), references.subspan(from + times * length, length))) {
        ++times;
      }
      if (times > 1 && times * length > longest.times * longest.length) longest = {from, length, times};
    }
  }
  return longest;
}

bool is_digit(char letter) { return std::isdigit(static_cast<unsigned char>(letter)) != 0; }

/// "main: net.cache_[*]" for "main: net.cache_12"; other numbers, as those in brackets, stay.
std::string without_digits(std::string_view path) {
  std::string result;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const bool is_of_attribute = is_digit(path[i]) && i > 0 && is_of_name(path[i - 1]);
    const std::size_t from = i;
    while (is_digit(path[i]) && i + 1 < path.size() && is_digit(path[i + 1])) ++i;
    result += is_of_attribute ? "[*]" : path.substr(from, i + 1 - from);
  }
  return result;
}

/// What names that differ in numbers have in common. A circle of classes is the same through any entry of a list.
std::string alike_name(std::string_view path) {
  return cycle_text::is_cycle(path) ? without_numbers(path) : without_digits(path);
}

std::string joined(std::span<const std::string_view> references) {
  std::string text;
  for (const std::string_view each : references) text += each;
  return text;
}

struct Chain {
  std::string begin, link, end;
};

std::optional<Chain> chain_of_links(std::string_view path) {
  const std::vector<std::string_view> references = references_of(path);
  const std::span all(references);
  const Repeated repeated = longest_of(all);
  if (repeated.times < 2) return std::nullopt;
  return Chain{joined(all.first(repeated.from)), joined(all.subspan(repeated.from, repeated.length)),
               joined(all.subspan(repeated.from + repeated.length * repeated.times))};
}

/// Links inside an object of C have no names: the chain is what the variable or attribute before them has.
std::string text_of(const Chain& chain) {
  if (!is_inside(chain.link)) return chain.begin + chain.link + std::string(kMoreLinks) + chain.end;
  std::string_view begin = chain.begin;
  for (std::size_t at = begin.rfind(" ("); at != npos && is_inside(begin.substr(at)); at = begin.rfind(" ("))
    begin = begin.substr(0, at);
  return std::string(begin);
}

}  // namespace

std::optional<std::string> without_links(std::string_view path) {
  const std::optional<Chain> chain = chain_of_links(path);
  return chain ? std::optional(text_of(*chain)) : std::nullopt;
}

void CommonNames::add(std::string_view path) {
  if (!paths_.emplace(path).second) return;
  if (const std::optional<Chain> chain = chain_of_links(path)) {
    shorter_.emplace(chain->begin + chain->end, text_of(*chain));
    shorter_.emplace(chain->begin + chain->link + chain->end, text_of(*chain));
  }
  // A chain may have been read when it had two objects only.
  const std::vector<std::string_view> references = references_of(path);
  const std::span all(references);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Chain chain{joined(all.first(i)), std::string(all[i]), joined(all.subspan(i + 1))};
    if (chain.end.empty() || !paths_.contains(chain.begin + chain.end)) continue;
    shorter_.emplace(chain.begin + chain.end, text_of(chain));
    shorter_.emplace(path, text_of(chain));
  }
}

void CommonNames::complete() {
  for (const std::string& each : paths_) {
    const std::string name = chain_of(each);
    without_numbers_[alike_name(name)].insert(name);
  }
}

std::string CommonNames::chain_of(std::string_view path) const {
  if (const auto name = without_links(path)) return *name;
  const auto found = shorter_.find(path);
  return found != shorter_.end() ? found->second : std::string(path);
}

std::string CommonNames::of(std::string_view path) const {
  const std::string name = chain_of(path);
  const auto alike = without_numbers_.find(alike_name(name));
  return alike != without_numbers_.end() && alike->second.size() > 1 ? alike->first : name;
}

}  // namespace dcmt::analyzer
