// The text of a cycle of objects. A reading of the memory writes it into the trace, and the analyzer takes it apart.
#pragma once

#include <string_view>

namespace dcmt::cycle_text {

inline constexpr std::string_view kBegin = "cycle ";
/// Behind the circle: why it stays, or that it does not.
inline constexpr std::string_view kThroughNodes = " (through autograd nodes, which Python's collector cannot see)";
inline constexpr std::string_view kFrozen = " (hidden from Python's collector by gc.freeze)";
inline constexpr std::string_view kCollectorIsOff = " (Python's collector is off)";
inline constexpr std::string_view kCollectorFrees = " (Python's collector can free it)";

/// In a cycle of a variable and the graph of its gradient, which `backward(create_graph=True)` makes.
inline constexpr std::string_view kOfGradient = "AccumulateGrad.variable ";
/// In place of autograd nodes that follow each other: their number differs between the layers of one model.
inline constexpr std::string_view kMoreNodes = "… → ";
/// With what a reason begins that is one of the graph.
inline constexpr std::string_view kThrough = kThroughNodes.substr(0, std::string_view(" (through").size());

/// True if the path is that of a cycle: no variable leads to what it keeps.
[[nodiscard]] constexpr bool is_cycle(std::string_view path) { return path.starts_with(kBegin); }

}  // namespace dcmt::cycle_text
