#include "analyzer/storages/block_module.h"

namespace dcmt::analyzer {

std::string_view module_of(const TraceData& data, const Block& block) {
  const Held* held = block.storage.valid() ? data.owners.of(block.storage) : nullptr;
  const bool is_state = held != nullptr && held->module.valid();
  const Module* module = data.owners.module(is_state ? held->module : block.module);
  return module != nullptr ? data.text(module->name) : std::string_view();
}

}  // namespace dcmt::analyzer
