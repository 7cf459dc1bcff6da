#include "collector/torch/records/running_node.h"

#include <string.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <typeinfo>

#include "collector/agent/provider.h"
#include "collector/elf/elf_patch.h"
#include "collector/torch/records/callback_switch.h"

namespace dcmt::torch_provider {
namespace {

/// Returns a shared_ptr up to torch 2.12, an intrusive_ptr later.
using CurrentNode = decltype(torch::autograd::get_current_node)*;
constinit CurrentNode g_current_node = nullptr;
using NextNode = std::uint64_t (*)();
constinit NextNode g_next_node = nullptr;

/// The name that torch uses for a node: the class's name, without the namespace if it is torch::autograd::generated. It
/// is parsed from the mangled name, N5torch8autograd9generated12MulBackward0E, up to the first part that is not a plain
/// name. node->name() is not called: it allocates, and for a node defined in Python it acquires the GIL.
std::size_t class_name(std::string_view mangled, std::span<char> out) noexcept {
  constexpr std::string_view kGenerated = "N5torch8autograd9generated";
  std::size_t length = 0;
  const auto append = [&](std::string_view text) {
    const std::size_t count = std::min(text.size(), out.size() - length);
    memcpy(out.data() + length, text.data(), count);
    length += count;
  };
  std::string_view rest = mangled;
  rest.remove_prefix(rest.starts_with(kGenerated) ? kGenerated.size() : rest.starts_with('N') ? 1 : 0);
  const auto begins_with_digit = [&rest] { return !rest.empty() && rest[0] >= '0' && rest[0] <= '9'; };
  while (begins_with_digit()) {
    std::size_t part = 0;
    for (; begins_with_digit(); rest.remove_prefix(1)) part = part * 10 + static_cast<std::size_t>(rest[0] - '0');
    if (part > rest.size()) break;
    if (length > 0) append("::");
    append(rest.substr(0, part));
    rest.remove_prefix(part);
  }
  if (length == 0) append(mangled);
  return length;
}

}  // namespace

bool prepare_running_node() noexcept {
  void* cpu = elf::loaded_library("libtorch_cpu.so");
  if (cpu == nullptr) return false;
  g_current_node = reinterpret_cast<CurrentNode>(elf::symbol_in_use(cpu, "_ZN5torch8autograd16get_current_nodeEv"));
  g_next_node = reinterpret_cast<NextNode>(elf::symbol_in_use(cpu, "_ZN2at15sequence_number4peekEv"));
  return g_current_node != nullptr;
}

std::uint64_t next_node() noexcept { return g_next_node != nullptr ? g_next_node() : 0; }

RunningNode running_node() noexcept {
  if (g_current_node == nullptr) return {};
  // The engine and the graph hold the node while it runs. So this reference is never the last one, and never the second
  // one; dropping that would acquire the GIL for a node of Python.
  const auto node = g_current_node();
  if (node.get() == nullptr) return {};
  // The number of a node that no operator has made, such as AccumulateGrad, is the highest one.
  const std::uint64_t number = node->sequence_nr() + 1;
  if (nodes_are_observed()) return {0, number};
  // The word before a virtual table, by the C++ ABI of torch.
  const auto* table = *reinterpret_cast<const std::type_info* const* const*>(node.get());
  char name[128];
  return {agent::intern(name, class_name(table[-1]->name(), name)), number};
}

}  // namespace dcmt::torch_provider
