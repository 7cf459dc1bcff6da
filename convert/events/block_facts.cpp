#include "convert/events/block_facts.h"

#include "analyzer/storages/stacks.h"

namespace dcmt::convert {

using analyzer::Block;

BlockFacts::BlockFacts(const analyzer::TraceData& data)
    : data_(data), steps_(analyzer::steps_of(data)), phases_(data), holders_(data), read_(!data.owners.held.empty()) {}

std::optional<std::int64_t> BlockFacts::step(const Block& block) const {
  const analyzer::Step* step = analyzer::step_at(steps_, block.span.from_seq);
  return step != nullptr ? std::optional(step->number) : std::nullopt;
}

std::string_view BlockFacts::phase(const Block& block) const {
  const analyzer::Mark* phase = phases_.at(block.span.from_seq);
  return phase != nullptr ? data_.text(phase->name) : std::string_view();
}

std::string_view BlockFacts::operator_name(const Block& block) const {
  const analyzer::Operator* op = analyzer::named_operator(data_, block.birth.op);
  return op != nullptr ? data_.text(op->name) : std::string_view();
}

std::string BlockFacts::site(const Block& block) const {
  return block.birth.stack.valid() ? analyzer::describe_site(data_, block.birth.stack)
                                   : std::string(data_.text(block.owner));
}

std::string BlockFacts::holder(const Block& block) const {
  if (!read_ || !block.storage.valid()) return {};
  std::string holder = holders_.of(block.storage);
  return holder == analyzer::kNotRead ? std::string() : holder;
}

}  // namespace dcmt::convert
