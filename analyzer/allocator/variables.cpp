#include "analyzer/allocator/variables.h"

#include <algorithm>
#include <array>
#include <string>

namespace dcmt::analyzer {
namespace {

constexpr std::array<std::string_view, 2> kRead = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"};
/// Of other devices.
constexpr std::array<std::string_view, 2> kElsewhere = {"PYTORCH_HIP_ALLOC_CONF", "PYTORCH_XPU_ALLOC_CONF"};

struct Variable {
  std::string_view name, value;
};

std::vector<Variable> variables_in(std::string_view text) {
  std::vector<Variable> variables;
  while (!text.empty()) {
    const std::string_view each = text.substr(0, text.find(';'));
    text.remove_prefix(std::min(text.size(), each.size() + 1));
    if (const std::size_t end = each.find('='); end != std::string_view::npos) {
      variables.push_back({each.substr(0, end), each.substr(end + 1)});
    }
  }
  return variables;
}

bool is_one_of(std::string_view name, const std::array<std::string_view, 2>& names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::vector<IdleSetting> unread_variables(std::string_view variables, std::string_view taken) {
  const std::vector<Variable> all = variables_in(variables);
  std::string_view first;
  for (const std::string_view name : kRead) {
    if (first.empty() && std::ranges::find(all, name, &Variable::name) != all.end()) first = name;
  }
  std::vector<IdleSetting> unread;
  for (const Variable& each : all) {
    std::string why;
    if (is_one_of(each.name, kElsewhere)) continue;
    if (!is_one_of(each.name, kRead)) {
      why = "torch reads no variable of this name, but PYTORCH_ALLOC_CONF";
    } else if (each.name != first) {
      why = "torch takes only " + std::string(first) + ", which is set, too";
    } else if (single_settings(each.value) != single_settings(taken)) {
      why = "torch has other settings: it had read them before this was set, or the program has replaced them";
    }
    if (!why.empty()) unread.push_back({std::string(each.name) + "=" + std::string(each.value), why});
  }
  return unread;
}

}  // namespace dcmt::analyzer
