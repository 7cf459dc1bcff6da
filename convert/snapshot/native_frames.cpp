#include "convert/snapshot/native_frames.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace dcmt::convert {
namespace {

/// "div_Tensor" of "at::_ops::div_Tensor::call(at::Tensor const&)"; empty if the function is no operator.
std::string_view operator_of(std::string_view function) {
  constexpr std::string_view kOperators = "at::_ops::";
  if (!function.starts_with(kOperators)) return {};
  function.remove_prefix(kOperators.size());
  return function.substr(0, function.find("::"));
}

/// The name without its overload: overloads that are types or dimensions begin with a capital.
std::string_view without_overload(std::string_view name) {
  for (std::size_t at = name.find('_', 1); at != std::string_view::npos; at = name.find('_', at + 1)) {
    if (at + 1 < name.size() && std::isupper(static_cast<unsigned char>(name[at + 1])) != 0) return name.substr(0, at);
  }
  return name;
}

/// "AddmmBackward0" of "torch::autograd::generated::AddmmBackward0::apply(…)"; empty if the function is no node's.
std::string_view node_of(std::string_view function) {
  constexpr std::string_view kApply = "::apply(";
  const std::size_t end = function.find(kApply);
  if (!function.starts_with("torch::autograd::") || end == std::string_view::npos) return {};
  const std::string_view path = function.substr(0, end);
  return path.substr(path.rfind(':') + 1);
}

}  // namespace

std::string node_and_operator(const std::vector<SnapshotFrame>& frames) {
  std::string_view op;
  for (const SnapshotFrame& frame : frames) {
    if (const std::string_view name = operator_of(frame.function); !name.empty()) op = without_overload(name);
    if (const std::string_view node = node_of(frame.function); !node.empty())
      return std::string(node) + (op.empty() ? "" : " → aten::" + std::string(op));
  }
  return op.empty() ? std::string() : "aten::" + std::string(op);
}

bool is_plumbing(const SnapshotFrame& frame) {
  constexpr std::array<std::string_view, 7> kPlumbing{
      "torch::unwind::", "torch::CapturedTraceback::", "torch::cuda::", "c10::", "at::detail::",
      "at::native::",    "torch::autograd::"};
  return std::ranges::any_of(kPlumbing, [&](std::string_view part) { return frame.function.starts_with(part); });
}

}  // namespace dcmt::convert
