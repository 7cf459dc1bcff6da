#include "analyzer/allocator/model_run.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <unordered_map>

#include "trace/base/quantities.h"

namespace dcmt::analyzer {
namespace {

using Kind = AllocatorEvent::Kind;
using Events = std::vector<AllocatorEvent>;

/// The request for which the segments of a release at `at` were given back, if they were given back because the device
/// had refused memory; else nullptr: the program emptied the cache.
const AllocatorEvent* request_after(const Events& events, std::size_t at) {
  std::size_t next = at + 1;
  if (next < events.size() && events[next].kind == Kind::kReserved) ++next;
  if (next == at + 1 || next >= events.size() || events[next].kind != Kind::kRequest) return nullptr;
  return &events[next];
}

class Blocks {
 public:
  void put(const Block* block, CachingAllocator::Piece* model) { blocks_[block] = model; }
  CachingAllocator::Piece* take(const Block* block) {
    const auto at = blocks_.find(block);
    if (at == blocks_.end()) return nullptr;
    CachingAllocator::Piece* model = at->second;
    blocks_.erase(at);
    return model;
  }

 private:
  std::unordered_map<const Block*, CachingAllocator::Piece*> blocks_;
};

/// What a request needs of the device if nothing cached serves it.
std::int64_t segment_of(const AllocatorEvent& event, const AllocatorSettings& settings) {
  return settings.segment_for(settings.rounded(event.request.bytes));
}

/// Why the run had no single limit; empty: nothing speaks against one.
std::string limit_change(const AllocatorRequests& requests) {
  const std::int64_t highest = recorded_peak(requests);
  const std::optional<std::int64_t> limit = requests.settings.limit;
  if (limit && highest > *limit) {
    return "the limit of the process changed: it was " + rounded_bytes(*limit) + ", and later " +
           rounded_bytes(highest) + " were reserved";
  }
  std::int64_t recorded = 0;
  for (const AllocatorEvent& event : requests.events) {
    if (event.kind == Kind::kReserved) recorded += event.bytes;
    if (event.kind == Kind::kReleased) recorded -= event.bytes;
    if (event.kind != Kind::kRefused) continue;
    const std::int64_t asked = recorded + segment_of(event, requests.settings);
    if (asked > highest) continue;
    return "what the allocator could get changed during the run: a request that needed " + rounded_bytes(asked) +
           " in all was refused, and at another time it had " + rounded_bytes(highest);
  }
  return {};
}

std::string why_idle(std::string_view key, const AllocatorSettings& settings) {
  if (key == "garbage_collection_threshold") {
    return settings.limit ? "what was reserved never came above it, or nothing cached could be given back"
                          : "torch collects only where a memory fraction limits the process";
  }
  if (key == "max_split_size_mb") return "no cached block of that size could have served another request";
  if (key == "max_non_split_rounding_mb" && settings.max_split == AllocatorSettings::kUnlimited) {
    return "it counts only together with max_split_size_mb";
  }
  if (key == "per_process_memory_fraction") return "what was reserved never came near it";
  if (key == "roundup_power2_divisions") return "the requests needed the same segments";
  return "the same would be reserved without it";
}

}  // namespace

ModelCheck check_model(const AllocatorRequests& requests) {
  ModelCheck check;
  std::int64_t recorded = 0, address = 0;
  const AllocatorSettings& settings = requests.settings;
  const std::int64_t highest = recorded_peak(requests);
  CachingAllocator model(settings);
  // The record has the outcome of each request: a refusal shows as segments that were given back before one was
  // reserved.
  std::optional<std::int64_t> gives_at;  // the device gives nothing until so few bytes are reserved
  const auto can_give = [&](std::int64_t /*bytes*/) {
    if (gives_at && model.reserved() > *gives_at) return false;
    gives_at.reset();
    return true;
  };
  model.set_device({can_give, [&](std::int64_t /*bytes*/) { return address; },
                    [](std::int64_t /*address*/, std::int64_t /*bytes*/) {}, false});
  Blocks blocks;
  const Events& events = requests.events;
  for (std::size_t at = 0; at < events.size(); ++at) {
    const AllocatorEvent& event = events[at];
    switch (event.kind) {
      case Kind::kReserved:
        recorded += event.bytes;
        continue;
      case Kind::kReleased: {
        recorded -= event.bytes;
        const AllocatorEvent* request = request_after(events, at);
        if (request != nullptr && !model.serves(request->request)) {
          gives_at = recorded;
          if (recorded + event.bytes + segment_of(*request, settings) <= highest) ++check.given_back;
          for (const std::int64_t pool : event.pools) {
            if (pool != 0) model.release_cached(pool);
          }
        } else {
          for (const std::int64_t pool : event.pools) model.release_cached(pool);
        }
        continue;
      }
      case Kind::kRefused:
        model.refuse(event.request);
        continue;
      case Kind::kRequest: {
        address = event.address;
        CachingAllocator::Piece* block = model.allocate(event.request);
        gives_at.reset();
        ++check.requests;
        if (block == nullptr) break;
        blocks.put(event.block, block);
        const bool same_size = !requests.has_sizes || block->bytes == event.block->bytes.value;
        if (block->address == event.address && same_size) ++check.placed;
        break;
      }
      case Kind::kFree:
        if (CachingAllocator::Piece* block = blocks.take(event.block)) model.free(block);
        break;
    }
    if (event.seq < requests.listed) continue;
    ++check.events;
    if (model.reserved() == recorded) {
      ++check.equal;
    } else if (!check.first_difference) {
      check.first_difference = event.seq;
      check.model = model.reserved();
      check.recorded = recorded;
    }
  }
  return check;
}

std::int64_t recorded_peak(const AllocatorRequests& requests) {
  std::int64_t highest = 0, recorded = 0;
  for (const AllocatorEvent& event : requests.events) {
    if (event.kind == Kind::kReserved) recorded += event.bytes;
    if (event.kind == Kind::kReleased) recorded -= event.bytes;
    highest = std::max(highest, recorded);
  }
  return highest;
}

ModelledRun modelled(const AllocatorRequests& requests) {
  ModelledRun run;
  run.why_not = requests.incomplete;
  if (!run.can_predict()) return run;
  run.check = check_model(requests);
  if (!run.check->holds()) {
    run.why_not = "the model of torch's allocator does not follow this run";
    return run;
  }
  run.why_not = limit_change(requests);
  if (!run.can_predict()) return run;
  // The check has what the device refused from the record. A prediction has to find it, up to what the device rounds.
  const ModelPrediction same = predict_reserved(requests, requests.settings);
  const std::int64_t highest = recorded_peak(requests);
  if (same.runs_out) {
    run.why_not = "by the model, memory would have run out where it did not";
  } else if (same.refused_fits > 0) {
    run.why_not = "by the model, a request that was refused would have had memory";
  } else if (std::abs(same.reserved_peak - highest) > highest / 100) {
    run.why_not = "by the model, at most " + rounded_bytes(same.reserved_peak) + " would have been reserved, not " +
                  rounded_bytes(highest);
  }
  return run;
}

ModelPrediction predict_reserved(const AllocatorRequests& requests, const AllocatorSettings& settings) {
  ModelPrediction predicted;
  const Events& events = requests.events;
  const std::int64_t highest = recorded_peak(requests);
  std::int64_t recorded = 0;
  // What the device has for the process: known where it refused something.
  std::int64_t capacity = std::numeric_limits<std::int64_t>::max();
  DriverAddresses addresses = requests.addresses;
  CachingAllocator model(settings);
  model.set_device({[&](std::int64_t bytes) { return model.reserved() + bytes <= capacity; },
                    [&](std::int64_t bytes) { return addresses.take(bytes); },
                    [&](std::int64_t at, std::int64_t bytes) { addresses.give_back(at, bytes); }});
  const auto was_refused = [&](std::size_t at) {
    if (at + 1 < events.size() && events[at + 1].kind == Kind::kRefused) return true;
    const AllocatorEvent* request = request_after(events, at);
    if (request == nullptr) return false;
    return recorded + segment_of(*request, requests.settings) > highest;
  };
  // Less than any request needed that was refused, and at least what there was.
  std::optional<std::int64_t> least_refused;
  const auto refuse = [&](const AllocatorEvent& request) {
    const std::int64_t needed = recorded + segment_of(request, requests.settings);
    least_refused = std::min(least_refused.value_or(needed), needed);
  };
  std::int64_t had = highest;
  // Which releases the program asked for: those that followed no refusal.
  std::vector<bool> is_refusal(events.size());
  for (std::size_t at = 0; at < events.size(); ++at) {
    if (events[at].kind == Kind::kReserved) recorded += events[at].bytes;
    if (events[at].kind == Kind::kReleased) {
      is_refusal[at] = was_refused(at);
      const AllocatorEvent* request = is_refusal[at] ? request_after(events, at) : nullptr;
      if (request != nullptr) refuse(*request);
      recorded -= events[at].bytes;
    }
    if (events[at].kind != Kind::kRefused) continue;
    refuse(events[at]);
    had = std::max(had, events[at].bytes);
  }
  if (least_refused) capacity = std::max(std::min(had, *least_refused - 1), highest);
  Blocks blocks;
  for (std::size_t at = 0; at < events.size(); ++at) {
    const AllocatorEvent& event = events[at];
    switch (event.kind) {
      case Kind::kReserved:
        continue;
      case Kind::kReleased:
        if (is_refusal[at]) continue;
        for (const std::int64_t pool : event.pools) model.release_cached(pool);
        continue;
      case Kind::kRefused: {
        ++predicted.refused;
        if (CachingAllocator::Piece* block = model.allocate(event.request)) {
          ++predicted.refused_fits;
          predicted.fits.push_back(event.seq);
          model.free(block);
        }
        continue;
      }
      case Kind::kRequest:
        if (CachingAllocator::Piece* block = model.allocate(event.request)) {
          blocks.put(event.block, block);
        } else {
          predicted.runs_out = true;
        }
        break;
      case Kind::kFree:
        if (CachingAllocator::Piece* block = blocks.take(event.block)) model.free(block);
        break;
    }
    predicted.fingerprint = (predicted.fingerprint ^ static_cast<std::uint64_t>(model.reserved())) * 0x100000001b3;
    predicted.allocated_peak = std::max(predicted.allocated_peak, model.allocated());
    if (model.reserved() <= predicted.reserved_peak) continue;
    predicted.reserved_peak = model.reserved();
    predicted.reserved_peak_at = event.seq;
  }
  predicted.reserved_end = model.reserved();
  predicted.collections = model.collections();
  predicted.kept_whole = model.kept_whole();
  return predicted;
}

Expected<AllocatorSettings> settings_for(const AllocatorRequests& requests, std::string_view text) {
  DCMT_ASSIGN_OR_RETURN(AllocatorSettings settings, read_settings(text));
  settings.limit = requests.settings.limit;
  if (settings.fraction && settings.fraction != requests.settings.fraction) {
    settings.limit.reset();
    if (requests.total) {
      settings.limit = static_cast<std::int64_t>(*settings.fraction * static_cast<double>(*requests.total));
    }
  }
  return settings;
}

std::vector<IdleSetting> idle_settings(const AllocatorRequests& requests, std::string_view text) {
  std::vector<IdleSetting> idle;
  const std::vector<std::string> all = single_settings(text);
  const Expected<AllocatorSettings> settings = settings_for(requests, text);
  if (!settings.ok()) return idle;
  const std::uint64_t with = predict_reserved(requests, *settings).fingerprint;
  for (std::size_t at = 0; at < all.size(); ++at) {
    const std::string key = all[at].substr(0, all[at].find(':') + 1);
    if (!decides_reserved(key.substr(0, key.size() - 1))) continue;
    const auto later = std::find_if(all.begin() + static_cast<std::ptrdiff_t>(at) + 1, all.end(),
                                    [&](const std::string& other) { return other.starts_with(key); });
    if (later != all.end()) {
      idle.push_back({all[at], "a later one, " + *later + ", replaces it"});
      continue;
    }
    std::string others;
    for (const std::string& other : all) {
      if (!other.starts_with(key)) others = joined_settings(others, other);
    }
    const Expected<AllocatorSettings> without = settings_for(requests, others);
    if (!without.ok() || predict_reserved(requests, *without).fingerprint != with) continue;
    idle.push_back({all[at], why_idle(key.substr(0, key.size() - 1), *settings)});
  }
  return idle;
}

}  // namespace dcmt::analyzer
