#include "analyzer/storages/recompute.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/storages/group_names.h"
#include "analyzer/storages/without_numbers.h"
#include "analyzer/time/curve.h"

namespace dcmt::analyzer {
namespace {

constexpr int kNoInstance = -1;

/// One call of a module in a forward that a backward followed.
struct Call {
  int instance = kNoInstance;
  ThreadId thread = kNoThread;
  Sequence from, to;  ///< from its first block to the next one that is made outside
  TimeNs from_ns, to_ns;
  Sequence backward;  ///< the first block that the module's backward makes; zero: none so far
  std::vector<const Block*> made;
};

/// What a call needs at once when it is computed again.
struct Spike {
  Sequence at;
  std::int64_t bytes = 0;
  std::int64_t instead = 0;  ///< of the curve: the output, which the first computation has made
};

/// The difference that checkpoints make.
struct Changed {
  std::vector<Gap> not_kept;
  std::vector<std::pair<Sequence, std::int64_t>> kept;  ///< by when, of blocks that end in the recorded run
  std::vector<Spike> spikes;
};

/// A block that a module's call or its backward made.
struct Birth {
  const Block* block;
  int module;  ///< index among the modules; kNoInstance: none
  bool backward;
};

std::vector<std::string> parts_of(std::string_view name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    if (c == '.') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// "layers.3" and "layers[3]" have the pattern of all their siblings.
std::string pattern_of(const std::string& part) {
  const bool is_number = !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  return is_number ? "*" : without_numbers(part);
}

/// For each pattern, which instance each module belongs to: "model.layers.3" of "model.layers.3.mlp" for
/// "model.layers.*".
using Instances = std::map<std::string, std::vector<int>>;

Instances instances_of(const TraceData& data) {
  const std::vector<Module>& modules = data.owners.modules;
  Instances instances;
  std::map<std::string, int> numbers;
  for (std::size_t i = 0; i < modules.size(); ++i) {
    std::string pattern, name;
    if (!modules[i].name.valid()) continue;
    for (const std::string& part : parts_of(data.text(modules[i].name))) {
      pattern += (pattern.empty() ? "" : ".") + pattern_of(part);
      name += (name.empty() ? "" : ".") + part;
      std::vector<int>& of_pattern = instances[pattern];
      of_pattern.resize(modules.size(), kNoInstance);
      of_pattern[i] = numbers.emplace(name, static_cast<int>(numbers.size())).first->second;
    }
  }
  return instances;
}

std::vector<Birth> births_of(const TraceData& data, const PhaseIndex& phases, StringId device) {
  std::vector<Birth> births;
  for (const auto& [seq, block] : data.blocks_by_begin) {
    if (block->device != device || is_sum_of_small_blocks(data, *block)) continue;
    const Module* module = data.owners.module(block->module);
    births.push_back({block, module != nullptr ? static_cast<int>(module - data.owners.modules.data()) : kNoInstance,
                      is_phase(data, phases.at(seq), "backward")});
  }
  return births;
}

/// The calls of the instances, each with the backward that followed it.
std::vector<Call> calls_of(const std::vector<Birth>& births, const std::vector<int>& instance_of) {
  std::vector<Call> calls;
  std::map<ThreadId, std::size_t> running;        // the thread's call
  std::map<int, std::vector<std::size_t>> ended;  // calls without a backward so far, by instance
  for (const auto& [block, module, backward] : births) {
    const int instance = module == kNoInstance ? kNoInstance : instance_of[static_cast<std::size_t>(module)];
    const auto found = running.find(block->birth.thread);
    const bool is_same = found != running.end() && !backward && calls[found->second].instance == instance;
    if (found != running.end() && !is_same) {
      calls[found->second].to = block->span.from_seq;
      calls[found->second].to_ns = block->span.from_ns;
      running.erase(found);
    }
    if (instance == kNoInstance) continue;
    if (backward) {
      for (const std::size_t each : ended[instance]) {
        Call& call = calls[each];
        call.backward = block->span.from_seq;
        if (!call.to.valid()) std::tie(call.to, call.to_ns) = std::tuple(call.backward, block->span.from_ns);
      }
      ended[instance].clear();
    } else {
      if (!is_same) {
        running[block->birth.thread] = calls.size();
        ended[instance].push_back(calls.size());
        calls.push_back({instance, block->birth.thread, block->span.from_seq, {}, block->span.from_ns, {}, {}, {}});
      }
      calls[is_same ? found->second : calls.size() - 1].made.push_back(block);
    }
  }
  std::erase_if(calls, [](const Call& call) { return !call.backward.valid(); });
  return calls;
}

/// The most that the blocks of a call occupied up to the begin of `last`. What outlives the backward is made only once,
/// as the workspace of a library is.
std::int64_t most_of(const std::vector<const Block*>& made, Sequence last, Sequence backward_end) {
  std::vector<std::pair<Sequence, std::int64_t>> changes;
  for (const Block* block : made) {
    if (block->span.from_seq > last || block->span.end() > backward_end) continue;
    changes.emplace_back(block->span.from_seq, block->bytes.value);
    if (block->span.ended()) changes.emplace_back(block->span.to_seq, -block->bytes.value);
  }
  std::ranges::sort(changes);
  std::int64_t bytes = 0;
  std::int64_t most = 0;
  for (const auto& [seq, delta] : changes) {
    if (seq > last) break;
    bytes += delta;
    most = std::max(most, bytes);
  }
  return most;
}

/// The arguments that end with a call: others have made them, and a checkpoint keeps them.
void keep_arguments(const TraceData& data, const Call& call, StringId device, Sequence until, Changed& changed) {
  const auto& ends = data.blocks_by_end;
  const auto after = [](Sequence at) { return [at](const auto& entry) { return entry.first <= at; }; };
  const auto from = std::partition_point(ends.begin(), ends.end(), after(call.from));
  for (auto end = from; end != ends.end() && end->first <= call.to; ++end) {
    const Block& block = *end->second;
    if (block.device != device || block.span.from_seq >= call.from || block.end.thread != call.thread) continue;
    changed.kept.emplace_back(block.span.to_seq, block.bytes.value);
    changed.kept.emplace_back(until, -block.bytes.value);
  }
}

/// Adds what checkpoints would change about a call.
void recompute(const TraceData& data, const Call& call, StringId device, Sequence backward_end, Changed& changed) {
  std::vector<const Block*> saved;
  bool has_output = false;
  for (const Block* block : call.made) {
    if (!block->span.covers(call.to)) continue;
    const bool is_saved = block->span.covers(call.backward) && block->span.end() <= backward_end;
    if (is_saved) saved.push_back(block);
    has_output |= !is_saved;
  }
  if (saved.empty()) return;
  Spike spike{call.backward, 0, 0};
  Sequence last, last_end;
  for (const Block* block : saved) {
    last = std::max(last, block->span.from_seq);
    last_end = std::max(last_end, block->span.end());
  }
  if (!has_output) {
    // The last node has saved the result of the call. It runs first, and frees it first. The caller keeps that result.
    const auto output = std::ranges::min_element(saved, {}, [](const Block* block) { return block->span.end(); });
    spike.instead = (*output)->bytes.value;
    saved.erase(output);
  }
  if (saved.empty()) return;
  spike.bytes = most_of(call.made, last, backward_end);
  changed.spikes.push_back(spike);
  for (const Block* block : saved) changed.not_kept.push_back({block, call.to, call.backward});
  keep_arguments(data, call, device, last_end, changed);
}

std::int64_t most_in(const std::vector<Gap>& gaps) {
  std::vector<std::pair<Sequence, std::int64_t>> changes;
  for (const Gap& gap : gaps) {
    changes.emplace_back(gap.from, gap.bytes());
    changes.emplace_back(gap.to, -gap.bytes());
  }
  std::ranges::sort(changes);
  std::int64_t bytes = 0;
  std::int64_t most = 0;
  for (const auto& [seq, delta] : changes) most = std::max(most, bytes += delta);
  return most;
}

Bytes peak_with(const TraceData& data, StringId device, Changed changed) {
  std::ranges::sort(changed.spikes, {}, &Spike::at);
  std::ranges::sort(changed.kept);
  auto spike = changed.spikes.begin();
  auto kept = changed.kept.begin();
  Bytes before, peak;
  std::int64_t arguments = 0;
  for_each_point(data, device, changed.not_kept, [&](const CurvePoint& point) {
    for (; spike != changed.spikes.end() && spike->at <= point.seq; ++spike) {
      peak.value = std::max(peak.value, before.value - spike->instead + spike->bytes);
    }
    for (; kept != changed.kept.end() && kept->first <= point.seq; ++kept) arguments += kept->second;
    before.value = point.bytes.value + arguments;
    if (data.sums_only_at(point.seq) == nullptr) peak = std::max(peak, before);
  });
  return peak;
}

/// The time of the calls whose backward lies in a step.
TimeNs time_of(const std::vector<Call>& calls, const Step& step) {
  TimeNs time;
  for (const Call& call : calls) {
    const bool is_in = step.from < call.backward && (!step.to.valid() || call.backward <= step.to);
    if (is_in) time.value += call.to_ns.value - call.from_ns.value;
  }
  return time;
}

}  // namespace

std::vector<Recompute> recomputes(const TraceData& data, const PhaseIndex& phases, const std::vector<Step>& steps,
                                  StringId device) {
  const std::vector<Birth> births = births_of(data, phases, device);
  const Step* step = is_gpu(data.text(device)) ? nullptr : step_at(steps, peak_of(data, device).seq);
  std::vector<Recompute> result;
  for (const auto& [pattern, instance_of] : instances_of(data)) {
    const std::vector<Call> calls = calls_of(births, instance_of);
    Changed changed;
    std::set<int> instances;
    for (const Call& call : calls) {
      recompute(data, call, device, phases.at(call.backward)->span.end(), changed);
      instances.insert(call.instance);
    }
    if (changed.not_kept.empty()) continue;
    Recompute& row = result.emplace_back();
    row.modules = pattern;
    row.instances = static_cast<std::int64_t>(instances.size());
    row.saved = Bytes(most_in(changed.not_kept));
    row.peak = peak_with(data, device, std::move(changed));
    if (step != nullptr) row.again = time_of(calls, *step);
  }
  std::ranges::stable_sort(result, {}, &Recompute::peak);
  return result;
}

}  // namespace dcmt::analyzer
