// Remarks: what a reader should know of and nobody has to fix.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/rules/left_gathered.h"

namespace dcmt::analyzer {

enum class RemarkKind {
  kPool,           ///< buffers that are handed from gather to gather: bytes kept by design
  kStaysGathered,  ///< gathered in a forward, with no backward known to be of it: an evaluation, an exception
  kUsesLeft,       ///< more uses were declared than releases ran, and the storage went nevertheless
  kUntracked,      ///< storages that there was no room to follow
  kFirstMissed,    ///< releases of parameters whose gather was not observed
  kUnknown,        ///< verdicts that lost records may have changed
  kKept,           ///< what an earlier step made stands at the peak or at the last reading, and who holds it
  kGrows,          ///< memory grows, and nothing was found that holds it but, it may be, garbage in cycles
};

struct Remark {
  RemarkKind kind = RemarkKind::kPool;
  /// Of a pool its buffers, of kStaysGathered gathers, of kKept and kGrows storages, else releases.
  std::int64_t count = 0;
  std::int64_t parameters = 0;  ///< distinct ones; 0 of a pool
  std::int64_t releases = 0;    ///< of a pool: those that gave a buffer back to it
  Bytes bytes = {};             ///< kept; 0 where it is of none, or not known
  Bytes per_step = {};          ///< of kGrows
  std::string place = {};       ///< of kKept and kGrows: where most of them were made
  std::string holder = {};      ///< of kKept
  bool by_calls = false;        ///< of kKept: the program has no steps, `steps` are calls
  std::int64_t steps = 0;       ///< of kKept: how long before the peak the first was made; 0: of the last reading
  std::int64_t seen = 0;        ///< of kGrows: storages that were there when the memory was read
};

[[nodiscard]] std::string_view name_of(RemarkKind kind);

[[nodiscard]] std::vector<Remark> remarks(const TraceData& data, const Releases& releases);

}  // namespace dcmt::analyzer
