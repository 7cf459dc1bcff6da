#include "tests/bench/training_mix.h"

#include <string>
#include <utility>

#include "collector/agent/provider.h"
#include "trace/wire/records.h"

namespace dcmt::bench {
namespace {

constexpr std::uint64_t kNames = 144;
constexpr std::uint64_t kStacks = 90;
constexpr std::uint64_t kFrames = 30;
constexpr std::uint64_t kUnitsOfHalf = 300;  ///< of a step's forward, and of its backward

/// One record; `fill` sets what follows the header. Returns 1, or 0 if there was no room.
template <class Record, class Fill>
std::uint64_t publish(wire::RecordType type, std::uint32_t aux, Fill&& fill, std::size_t bytes = sizeof(Record)) {
  const agent::Inside inside;
  auto* record = static_cast<Record*>(agent::begin_record(type, bytes, aux));
  if (record == nullptr) return 0;
  fill(*record);
  agent::commit_record(record);
  return 1;
}

std::uint64_t intern(const std::string& text) {
  const agent::Inside inside;
  return agent::intern(text.data(), text.size());
}

}  // namespace

TrainingMix::TrainingMix() {
  for (std::uint64_t i = 0; i < kNames; ++i) names_.push_back(intern("aten::operator_" + std::to_string(i)));
  std::vector<std::uint64_t> codes;
  for (std::uint64_t i = 0; i < kStacks + kFrames; ++i) {
    const std::uint64_t file = intern("/job/model/layer_" + std::to_string(i / 4) + ".py");
    const std::uint64_t function = intern("Layer" + std::to_string(i) + ".forward");
    const std::uint64_t id = 0xC0DE0000 + i;
    publish<wire::CodeRecord>(wire::RecordType::kCode, 10, [&](wire::CodeRecord& r) {
      r.id = id;
      r.file = file;
      r.function = function;
    });
    codes.push_back(id);
  }
  for (std::uint64_t i = 0; i < kStacks; ++i) {
    // Innermost frame first: stacks differ there and share their callers.
    publish<wire::StackRecord>(
        wire::RecordType::kStack, 0,
        [&](wire::StackRecord& r) {
          r.id = 0x57AC0000 + i;
          r.count = kFrames;
          auto* frames = reinterpret_cast<wire::StackFrame*>(&r + 1);
          for (std::uint64_t f = 0; f < kFrames; ++f) {
            frames[f] = {codes[f < 3 ? kFrames + i : f], static_cast<std::int32_t>(2 * f), static_cast<int>(10 + f)};
          }
        },
        sizeof(wire::StackRecord) + kFrames * sizeof(wire::StackFrame));
    stacks_.push_back(0x57AC0000 + i);
  }
}

std::uint64_t TrainingMix::begin(std::uint64_t name) {
  const std::uint64_t ordinal = ++ordinal_;
  written_ += publish<wire::OpRecord>(wire::RecordType::kOpBegin, 0, [&](wire::OpRecord& r) {
    r.name = names_[name % kNames];
    r.ordinal = ordinal;
  });
  return ordinal;
}

void TrainingMix::end(std::uint64_t ordinal) {
  written_ += publish<wire::OpRecord>(wire::RecordType::kOpEnd, 0, [&](wire::OpRecord& r) {
    r.name = 0;
    r.ordinal = ordinal;
  });
}

std::uint64_t TrainingMix::fresh_address() {
  if (addresses_.empty()) return next_address_ += 64;
  const std::uint64_t address = addresses_.back();
  addresses_.pop_back();
  return address;
}

std::uint64_t TrainingMix::next_stack() { return stacks_[unit_ % kStacks]; }

TrainingMix::Live TrainingMix::allocate() {
  const std::uint64_t bytes = 1024 + unit_ % 97 * 4096;
  const Live live{fresh_address(), fresh_address(), fresh_address(), unit_ % 5 < 2 ? fresh_address() : 0, bytes};
  written_ += publish<wire::BlockRecord>(wire::RecordType::kBlockAlloc, 0, [&](wire::BlockRecord& r) {
    r.address = live.block;
    r.bytes = bytes;
    r.stack = next_stack();
  });
  for (const std::uint64_t tensor : {live.tensor, live.view}) {
    if (tensor == 0) continue;
    written_ += publish<wire::TensorRecord>(wire::RecordType::kTensorBirth, 0, [&](wire::TensorRecord& r) {
      r.tensor = tensor;
      r.storage = live.storage;
      r.data = live.block;
      r.bytes = bytes;
      r.stack = next_stack();
    });
  }
  return live;
}

void TrainingMix::free(const Live& live) {
  for (const std::uint64_t tensor : {live.view, live.tensor}) {
    if (tensor == 0) continue;
    written_ += publish<wire::TensorRecord>(wire::RecordType::kTensorDeath, 0, [&](wire::TensorRecord& r) {
      r.tensor = tensor;
      r.storage = live.storage;
      r.data = r.bytes = r.stack = 0;
    });
    addresses_.push_back(tensor);
  }
  written_ += publish<wire::StorageRecord>(wire::RecordType::kStorageDeath, static_cast<std::uint32_t>(ordinal_),
                                           [&](wire::StorageRecord& r) {
                                             r.storage = live.storage;
                                             r.data = live.block;
                                             r.bytes = live.bytes;
                                             r.stack = next_stack();
                                           });
  written_ += publish<wire::BlockRecord>(wire::RecordType::kBlockFree, 0, [&](wire::BlockRecord& r) {
    r.address = live.block;
    r.bytes = 0;
    r.stack = next_stack();
  });
  addresses_.push_back(live.storage);
  addresses_.push_back(live.block);
}

void TrainingMix::advance() {
  const std::uint64_t in_step = unit_ % (2 * kUnitsOfHalf);
  const bool forward = in_step < kUnitsOfHalf;
  const std::uint64_t outer = begin(unit_);
  end(begin(unit_ + 1));
  const std::uint64_t inner = begin(unit_ + 2);
  const Live live = allocate();
  end(inner);
  end(begin(unit_ + 3));
  end(outer);
  if (forward && in_step % 2 == 0) {
    kept_.push_back(live);
  } else {
    free(live);
  }
  if (!forward && in_step % 2 == 0 && !kept_.empty()) {
    free(kept_.back());
    kept_.pop_back();
  }
  ++unit_;
  if (unit_ % (2 * kUnitsOfHalf) != 0) return;
  written_ += publish<wire::MarkRecord>(wire::RecordType::kMarkPoint, static_cast<std::uint32_t>(wire::MarkKind::kStep),
                                        [&](wire::MarkRecord& r) {
                                          r.name = r.id = r.stack = 0;
                                          r.value = static_cast<std::int64_t>(unit_ / (2 * kUnitsOfHalf));
                                        });
}

}  // namespace dcmt::bench
