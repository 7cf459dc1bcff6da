// What would make torch's allocator reserve less for the requests of a run, by its model: other settings, or a change
// of the program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "analyzer/allocator/model_run.h"

namespace dcmt::analyzer {

enum class RemedyKind : std::uint8_t {
  kSetting,         ///< with a setting
  kWithoutSetting,  ///< without one of the run's
  kOneStream,       ///< all blocks are allocated on one stream
  kOnePool,         ///< all private pools are one
  kOwnPool,         ///< the blocks of one place lie in a pool of their own
};

[[nodiscard]] std::string_view name_of(RemedyKind kind);

/// A change, and what it gives.
struct Remedy {
  RemedyKind kind = RemedyKind::kSetting;
  std::string change;    ///< the setting, or the place
  std::string settings;  ///< of PYTORCH_ALLOC_CONF with the change
  Bytes reserved_peak, gives_back;
  std::optional<bool> fits;
  bool helps = false;

  static constexpr std::string_view kShape = "remedy";
  static void describe(auto&& field) {
    field("kind", &Remedy::kind,
          "\"setting\", \"without setting\", \"one stream\" (all blocks are allocated on one), \"one pool\" (all "
          "private pools are one), \"own pool\" (the blocks of one place lie in a torch.cuda.MemPool of their own)");
    field("change", &Remedy::change, "the setting, or the place; else empty");
    field("settings", &Remedy::settings, "of PYTORCH_ALLOC_CONF, with the change");
    field("reserved_peak_bytes", &Remedy::reserved_peak, "that the same requests would need");
    field("gives_back_bytes", &Remedy::gives_back, "so much less than the run had; negative: more");
    field("fits", &Remedy::fits, "the request that had no memory would have had it; null: there is none");
    field("helps", &Remedy::helps, "enough to matter: docs/verdicts.md");
  }
};

/// A place whose blocks keep free bytes.
struct KeepingPlace {
  std::string site;
  std::unordered_set<const Block*> blocks;  ///< all of the run
};

/// True if so many bytes of a device's peak of reserved bytes matter: 64 MiB, and a fifth.
[[nodiscard]] bool matters(Bytes bytes, Bytes reserved_peak);

/// Tries changes of a run that the model follows. Those that help come first, the best of them at the begin.
/// @param error    the refused request that is to fit; nullopt: less is to be reserved
/// @param keeping  places to try pools of their own for
[[nodiscard]] std::vector<Remedy> remedies_of(const AllocatorRequests& requests, std::optional<Sequence> error,
                                              const std::vector<KeepingPlace>& keeping);

}  // namespace dcmt::analyzer
