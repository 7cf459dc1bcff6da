// Sampled allocations of C and C++: where they come from, and how much of each place is alive.
//
// An allocation of n bytes is sampled with the probability p = 1 - exp(-n / interval), independent of all others. It
// stands for n / p bytes, so that the sum over what was sampled and is alive has no bias. The variance of that sum is
// estimated by the sum of (1 - p) (n / p)².
#pragma once

#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "collector/recorder/assemble/code_stacks.h"
#include "collector/recorder/decode/dictionary.h"
#include "collector/recorder/keep/journal.h"
#include "trace/base/status.h"
#include "trace/wire/records.h"

namespace dcmt::recorder {

/// Thread-safety: none.
class NativeBook {
 public:
  NativeBook(Journal& journal, Dictionary& dictionary, CodeStacks& stacks)
      : journal_(journal), dictionary_(dictionary), stacks_(stacks) {}

  /// Continues the trace of another recorder: what is alive is not known, so nothing more is written.
  void resume() { is_interrupted_ = true; }

  Status sample(const wire::NativeSampleRecord& record);
  Status end(const wire::NativeEndRecord& record);
  /// Writes what is alive, if it is time.
  Status poll();
  /// Writes it a last time.
  Status finish();

 private:
  struct Sampled {
    std::size_t site = 0;
    double weight = 0;  ///< the bytes that it stands for
    double variance = 0;
  };
  struct SiteKey {
    wire::NativeCall call{};
    std::uint64_t stack = 0;   ///< of Python
    std::uint64_t native = 0;  ///< id
    auto operator<=>(const SiteKey&) const = default;
  };
  struct Site {
    RowId id = 0;  ///< 0: it has no row yet
    const SiteKey* key = nullptr;
    double live = 0, variance = 0, made = 0;
    double least = 0;  ///< of `live`, since the reading before
    std::int64_t samples = 0;
    bool has_changed = false;
  };

  std::size_t site_of(SiteKey key);
  void add(const Sampled& sampled, int sign);
  Status write_site(Site& site);
  Status write_live();

  Journal& journal_;
  Dictionary& dictionary_;
  CodeStacks& stacks_;
  std::map<SiteKey, std::size_t> numbers_;
  std::vector<Site> sites_;
  std::unordered_map<std::uint64_t, Sampled> live_;   ///< by address
  std::unordered_map<std::uint64_t, Sampled> ended_;  ///< by a realloc that may have failed
  std::vector<std::size_t> changed_;                  ///< sites
  std::uint64_t missed_ = 0, interval_ = 0;
  std::int64_t began_ns_ = 0, next_ns_ = 0;
  RowId reading_ = 0, next_site_ = 1;
  bool is_interrupted_ = false;
};

}  // namespace dcmt::recorder
