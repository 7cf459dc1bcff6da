// Names of holders for people, according to scans of the memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "analyzer/load/trace_data.h"
#include "analyzer/storages/phase_lives.h"
#include "analyzer/storages/sample.h"
#include "analyzer/time/timeline.h"

namespace dcmt::analyzer {

/// The holder of a storage without a container, from a path to the storage: "main: x"; "main: total.grad_fn" if the
/// path goes on through a graph or a cycle. Empty for a cycle that Python's collector frees.
[[nodiscard]] std::string_view holder_of(std::string_view path);

/// True for a cycle that stays, because Python's collector is off, or gc.freeze() hides it.
[[nodiscard]] bool is_lasting_cycle(std::string_view path);

/// The start of a path: "main: v" of "main: v.grad_fn MulBackward0", "program.opt" of "program.opt.state".
[[nodiscard]] std::string_view variable_at_root(std::string_view path);

/// True for a path that ends with the gradient of a tensor.
[[nodiscard]] bool is_gradient(std::string_view path);

/// True for a variable, "main: out" or "program.out": the program replaces its value, and does not add to it.
[[nodiscard]] bool is_plain_variable(std::string_view holder);

/// The category of storages that a gather gave.
inline constexpr std::string_view kGatheredParameter = "gathered parameter";

/// True for a variable or an attribute, "main: state.last": the path leads to one object. False for what has several
/// alike: a graph, a cycle, a set, keys without a text of their own, "main: layers[*].last".
[[nodiscard]] bool has_one_value(std::string_view path);

/// True if a category says what memory is used for: "not attributed" does not.
[[nodiscard]] bool is_purpose(std::string_view category);

/// The suffix of HolderNames::of if others made at the same place determine the name; and the name if nothing does.
inline constexpr std::string_view kAsOthers = ", as others made there";
inline constexpr std::string_view kNotRead = "holder not known";

/// Belongs to one TraceData, which must outlive this object. Not thread-safe: counts are made on first use.
class HolderNames {
 public:
  explicit HolderNames(const TraceData& data);

  /// The holder's name: "main: losses"; for several containers "main: losses + main: probe.seen"; "parameter main:
  /// model.layers[*].weight". A storage that no scan found gets the name of others made at its place, if nine tenths of
  /// them are held alike (those of its size come first): "main: opt.state, as others made there". The latest storage
  /// may not be at its final holder yet. A variable or attribute without a container has one value, so it never has
  /// others', but for its gradient and the like, of which a step has one. Else kNotRead.
  [[nodiscard]] std::string of(StorageId storage) const;

  /// The variable or container that holds a storage: according to a scan of it; or the container of nine tenths of the
  /// others made at its place. nullopt for a parameter, a gradient and the like, and if no scan says it.
  [[nodiscard]] std::optional<std::string> variable_of(StorageId storage) const;

  /// The purpose of a storage: "parameter", "gradient", "optimizer state", "buffer" or "saved for backward"; else
  /// "variable" if something with a name holds it. A reading in the phase that made the storage may be too early for
  /// its graph: such a variable gets the category of others of its place and size. One in the backward may be too late:
  /// was_met_in_backward(). A storage that no scan found gets the category of others, too. If no scan found any of this
  /// size there, the phases in which such storages begin and end decide (PhaseLives), else the others of its place.
  /// "not attributed" if these differ.
  [[nodiscard]] std::string category_of(StorageId storage) const;

  /// True if each step makes such storages and frees them, whatever held this one when it was read: PhaseLives.
  [[nodiscard]] bool is_replaced(StorageId storage) const;

 private:
  /// Counts of names by the place that made the storages.
  class Counts {
   public:
    using Names = std::map<std::string, std::int64_t>;
    /// @param part  see HolderNames::part_of()
    void add(const Storage& storage, int part, const std::string& name);
    /// The name that nine tenths of the place's storages of this size have. has_size() says whether there are any.
    [[nodiscard]] std::optional<std::string> most_of_size(const Storage& storage, int part) const;
    [[nodiscard]] bool has_size(const Storage& storage, int part) const;
    /// The name that nine tenths of the place's storages have, if its size may have been missed by chance.
    [[nodiscard]] std::optional<std::string> most_of_place(const Storage& storage, const HolderNames& names) const;

   private:
    [[nodiscard]] static std::optional<std::string> most_of(Names names);

    std::map<std::pair<StackId, int>, Names> by_stack_;
    std::map<std::pair<PlaceAndSize, int>, Names> by_size_;
  };

  /// Numbers of storages by place and size, from a sample.
  class SizesOfPlaces {
   public:
    explicit SizesOfPlaces(const TraceData& data);
    [[nodiscard]] double share_of(StackId stack, Bytes bytes) const;

   private:
    std::unordered_map<StackId, std::int64_t> by_stack_;
    ByPlaceAndSize<std::int64_t> by_size_;
  };

  /// A line of C++ may call a backward and an optimizer, which have no lines of their own: storages of different phases
  /// are different kinds there.
  [[nodiscard]] int part_of(const Storage& storage) const;
  /// True if a step of an optimizer of C++ has made and freed it: its line is that of the state, too.
  [[nodiscard]] bool is_of_one_update(StorageId storage) const;
  /// The fraction of a place's storages that have the size of this storage.
  [[nodiscard]] double share_of_size(const Storage& storage) const;
  /// The name of other storages made at the same place.
  [[nodiscard]] std::optional<std::string> as_others(const Counts& counts, StorageId storage) const;
  [[nodiscard]] std::optional<std::string> holder_of_others(StorageId storage) const;
  [[nodiscard]] std::optional<std::string> by_life(StorageId storage) const;
  /// True if the lives of its place and size indicate another purpose than that of the place's other storages.
  [[nodiscard]] bool lives_otherwise(const Storage& storage) const;
  /// True if the latest scan that found the storage was in the phase that made it: a variable has a tensor before the
  /// graph saves it.
  [[nodiscard]] bool was_met_early(const Storage& storage, const Held& held) const;
  [[nodiscard]] const PhaseIndex& phases() const;
  [[nodiscard]] std::optional<std::string> seen(StorageId storage) const;
  [[nodiscard]] std::optional<std::string> seen_category(StorageId storage) const;
  /// The same, but "saved for backward" for what a reading met in a variable in the backward.
  [[nodiscard]] std::optional<std::string> purpose_of(const Held& held) const;

  const TraceData& data_;
  mutable std::optional<SizesOfPlaces> sizes_;
  mutable std::optional<PhaseLives> lives_;
  mutable std::optional<PhaseIndex> phases_;
  bool is_cpp_;
  Counts holders_, categories_;
  std::set<std::string> of_one_value_;  ///< names in holders_ that are no containers and lead to one object
};

}  // namespace dcmt::analyzer
