#include "analyzer/storages/without_numbers.h"

#include <algorithm>
#include <cctype>

namespace dcmt::analyzer {
namespace {

constexpr std::string_view kAny = "[*]";

bool is_number(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_hexadecimal(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace

std::string without_numbers(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto skip = [&](std::string_view before, bool (*of_number)(char), std::string_view after) {
      if (!text.starts_with(before)) return false;
      const std::string_view rest = text.substr(before.size());
      const auto digits = static_cast<std::size_t>(std::ranges::find_if_not(rest, of_number) - rest.begin());
      if (digits == 0 || !rest.substr(digits).starts_with(after)) return false;
      text = rest.substr(digits + after.size());
      return true;
    };
    if (skip("[", is_number, "]") || skip("0x", is_hexadecimal, "")) {
      result += kAny;
    } else if (skip("_at_", is_number, "")) {  // torch.compile continues after a graph break at this line
      result.append("_at_").append(kAny);
    } else {
      result += text.front();
      text.remove_prefix(1);
    }
  }
  return result;
}

}  // namespace dcmt::analyzer
