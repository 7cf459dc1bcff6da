#include "collector/torch/running_node.h"

#include <string.h>
#include <torch/csrc/autograd/function.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <typeinfo>

#include "collector/agent/provider.h"
#include "collector/elf/elf_patch.h"
#include "collector/torch/operator_events.h"

namespace dcmt::torch_provider {
namespace {

/// It returns a shared_ptr up to torch 2.12, an intrusive_ptr after.
using CurrentNode = decltype(torch::autograd::get_current_node)*;
constinit CurrentNode g_current_node = nullptr;

/// What torch calls its nodes: the class's name, of those in torch::autograd::generated without where they are. It is
/// taken from the name as the compiler writes it, N5torch8autograd9generated12MulBackward0E, up to what is no plain
/// part of it: asking the node itself would allocate, and one that Python defines takes the GIL.
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
  return g_current_node != nullptr;
}

std::uint64_t running_node() noexcept {
  if (g_current_node == nullptr || nodes_are_observed()) return 0;
  // The engine and the graph hold it while it runs: this reference is never the last, and never the second, whose end
  // would ask for the GIL where the node is Python's.
  const auto node = g_current_node();
  if (node.get() == nullptr) return 0;
  // What a table of virtual functions has in front of it, by the C++ ABI that torch is built for.
  const auto* table = *reinterpret_cast<const std::type_info* const* const*>(node.get());
  char name[128];
  return agent::intern(name, class_name(table[-1]->name(), name));
}

}  // namespace dcmt::torch_provider
