// A training step of a chain of modules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/testing/test_trace.h"

namespace dcmt::testing {

/// The call of each layer makes `saved` blocks for its backward, a temporary one, and its output, which only the next
/// layer saves. The backward of a layer makes one gradient. Each block has `bytes`.
inline void add_step_of_layers(TestTrace& trace, std::int64_t layers, std::int64_t saved, std::int64_t bytes) {
  std::vector<std::vector<TestTrace::Handle>> kept(static_cast<std::size_t>(layers));
  std::vector<TestTrace::Handle> outputs;
  const auto in_module = [&](std::size_t layer) { trace.module = "model.layers." + std::to_string(layer) + ".mlp"; };
  TestTrace::Handle loss = 0;
  trace.phase("forward", [&] {
    for (std::size_t layer = 0; layer < kept.size(); ++layer) {
      in_module(layer);
      for (std::int64_t i = 0; i < saved; ++i) kept[layer].push_back(trace.allocate(bytes));
      const auto temporary = trace.allocate(bytes);
      outputs.push_back(trace.allocate(bytes));
      trace.drop(temporary);
    }
    trace.module.clear();
    loss = trace.allocate(bytes);
  });
  trace.phase("backward", [&] {
    trace.drop(loss);
    auto gradient = trace.allocate(bytes);
    for (std::size_t layer = kept.size(); layer-- > 0;) {
      trace.drop(outputs[layer]);
      in_module(layer);
      const auto next = trace.allocate(bytes);
      for (const auto block : kept[layer]) trace.drop(block);
      trace.drop(gradient);
      gradient = next;
    }
    trace.module.clear();
    trace.drop(gradient);
  });
  trace.step(1);
}

}  // namespace dcmt::testing
