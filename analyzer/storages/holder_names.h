// What holds a storage, by the scans of the memory, in the words of a person.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyzer/load/trace_data.h"
#include "analyzer/storages/phase_lives.h"
#include "analyzer/storages/sample.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

/// What holds a storage that no container does: "main: x" of a path to it, "main: total.grad_fn" of one that goes on
/// through a graph, a cycle. Empty for a cycle that Python's collector frees.
[[nodiscard]] std::string_view holder_of(std::string_view path);

/// "main: v" of "main: v.grad_fn MulBackward0", "program.opt" of "program.opt.state": where a path begins.
[[nodiscard]] std::string_view variable_at_root(std::string_view path);

/// Whether a holder is "main: out" or "program.out": a variable, which the program gives another value and not one
/// more.
[[nodiscard]] bool is_plain_variable(std::string_view holder);

/// The category of what a gather gave.
inline constexpr std::string_view kGatheredParameter = "gathered parameter";

/// Whether a category says what memory is for: "not attributed" does not.
[[nodiscard]] bool is_purpose(std::string_view category);

/// What HolderNames::of ends with where others made there say it, and what it is where nothing does.
inline constexpr std::string_view kAsOthers = ", as others made there";
inline constexpr std::string_view kNotRead = "not read";

/// Belongs to one TraceData, which must outlive it. Not for several threads at once: what its answers need is counted
/// when the first one needs it.
class HolderNames {
 public:
  explicit HolderNames(const TraceData& data);

  /// "main: losses", "main: losses + main: probe.seen" of several containers, "parameter main: model.layers[*].weight",
  /// "main: opt.state, as others made there" of one that no scan found where nine tenths of those that one found at its
  /// place, the ones of its size first, are held alike: the latest may not be where it belongs yet; else "not read".
  [[nodiscard]] std::string of(StorageId storage) const;

  /// The variable or container that holds it, by what a scan says of it or of nine tenths of the others made at its
  /// place. Nothing for a parameter, a gradient and the like, and where no scan says it.
  [[nodiscard]] std::optional<std::string> variable_of(StorageId storage) const;

  /// What it is for: "parameter", "gradient", "optimizer state", "buffer", "saved for backward", else "variable" if
  /// something that has a name holds it; a reading of the phase in which it was made may be too early for its graph, so
  /// of such a variable like those of its place and size. Of one that no scan found like those of its place and size;
  /// of a size that no scan met there, by the phases in which its storages begin and end (PhaseLives), else like those
  /// of its place; "not attributed" where these are not alike.
  [[nodiscard]] std::string category_of(StorageId storage) const;

 private:
  /// How many of those that were made at a place have which name.
  class Counts {
   public:
    using Names = std::map<std::string, std::int64_t>;
    void add(const Storage& storage, const std::string& name);
    /// What nine tenths of those of its size have. Whether there are any: has_size().
    [[nodiscard]] std::optional<std::string> most_of_size(const Storage& storage) const;
    [[nodiscard]] bool has_size(const Storage& storage) const;
    /// What nine tenths of all that were made at its place have, if it can be that its size was missed by chance.
    [[nodiscard]] std::optional<std::string> most_of_place(const Storage& storage, const HolderNames& names) const;

   private:
    [[nodiscard]] static std::optional<std::string> most_of(Names names);

    std::map<StackId, Names> by_stack_;
    ByPlaceAndSize<Names> by_size_;
  };

  /// By a sample of all storages.
  class SizesOfPlaces {
   public:
    explicit SizesOfPlaces(const TraceData& data);
    [[nodiscard]] double share_of(StackId stack, Bytes bytes) const;

   private:
    std::unordered_map<StackId, std::int64_t> by_stack_;
    ByPlaceAndSize<std::int64_t> by_size_;
  };

  /// What part of all that the place of a storage makes have its size.
  [[nodiscard]] double share_of_size(const Storage& storage) const;
  /// What others have that were made at the place of a storage.
  [[nodiscard]] std::optional<std::string> as_others(const Counts& counts, StorageId storage) const;
  [[nodiscard]] std::optional<std::string> by_life(StorageId storage) const;
  /// Whether those of its place and size live in a way that says something else than what others of its place are for.
  [[nodiscard]] bool lives_otherwise(const Storage& storage) const;
  /// Whether the latest scan that found it was in the phase in which it was made: a variable has a tensor before the
  /// graph that will save it has.
  [[nodiscard]] bool was_met_early(const Storage& storage) const;
  [[nodiscard]] std::optional<std::string> seen(StorageId storage) const;
  [[nodiscard]] std::optional<std::string> seen_category(StorageId storage) const;

  const TraceData& data_;
  mutable std::optional<SizesOfPlaces> sizes_;
  mutable std::optional<PhaseLives> lives_;
  mutable std::optional<PhaseIndex> phases_;
  Counts holders_, categories_;
};

}  // namespace dcmt::analyzer
