// What `show` can say about one trace: its releases, what is alive, one storage.
#pragma once

#include <string>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/model/devices.h"
#include "analyzer/model/live_set.h"
#include "analyzer/model/reference_story.h"
#include "analyzer/model/releases.h"
#include "analyzer/releases/storage_story.h"

namespace dcmt::model {

struct ReleasesView {
  std::string path;
  std::int64_t rank = -1;
  Range<Release> releases;
  Range<Cycle> cycles;

  std::int64_t persistent_cycles = 0, open_cycles = 0;  ///< open: not persistent, and without a final release

  static constexpr std::string_view kShape = "show releases";
  static void describe(auto&& field) {
    field("path", &ReleasesView::path, "");
    field("rank", &ReleasesView::rank, "");
    field("releases", &ReleasesView::releases, "in order");
    field("cycles", &ReleasesView::cycles, "by parameter, then in order");
  }
};

struct PeakView {
  std::string path;
  std::int64_t rank = -1;
  LivePeak peak;

  std::vector<DevicePeak> others;  ///< of the other devices

  static constexpr std::string_view kShape = "show peak";
  static void describe(auto&& field) {
    field("path", &PeakView::path, "");
    field("rank", &PeakView::rank, "");
    field("peak", &PeakView::peak, "");
  }
};

struct LiveView {
  std::string path;
  std::int64_t rank = -1;
  std::optional<std::string_view> device;
  Sequence at_seq;
  std::string at;  ///< the name of this point in time: "peak", "step:3"
  LiveSet live;

  std::optional<std::int64_t> step;
  std::optional<std::string_view> phase;

  [[nodiscard]] Bytes bytes() const { return live.bytes(); }
  [[nodiscard]] Range<LiveBlock> blocks() const { return live.blocks(); }

  static constexpr std::string_view kShape = "show live";
  static void describe(auto&& field) {
    field("path", &LiveView::path, "");
    field("rank", &LiveView::rank, "");
    field("device", &LiveView::device, "null: nothing was allocated");
    field("at_seq", &LiveView::at_seq, "right after this event");
    field("bytes", &LiveView::bytes, "alive then");
    LiveSet::describe_groups(
        [&field](std::string_view key, auto member, std::string_view meaning) {
          field(
              key, [member](const LiveView& view) { return (view.live.*member)(); }, meaning);
        },
        "");
    field("blocks", &LiveView::blocks, "all of them");
  }
};

struct StoryBlock {
  BlockId block;
  Bytes bytes;
  RunPoint born;
  std::optional<RunPoint> freed;

  static constexpr std::string_view kShape = "block";
  static void describe(auto&& field) {
    field("block", &StoryBlock::block, "");
    field("bytes", &StoryBlock::bytes, "");
    field("born", &StoryBlock::born, "");
    field("freed", &StoryBlock::freed, "");
  }
};

struct StoryTensor {
  TensorId tensor;
  std::optional<TensorId> object;
  RunPoint from;
  std::optional<RunPoint> to;
  Actor by;

  static constexpr std::string_view kShape = "tensor";
  static void describe(auto&& field) {
    field("tensor", &StoryTensor::tensor, "");
    field("object", &StoryTensor::object, "the first row of the same tensor object");
    field("from", &StoryTensor::from, "");
    field("to", &StoryTensor::to, "");
    field("by", &StoryTensor::by, "");
  }
};

/// A holder of a storage, according to readings of the memory.
struct StoryOwner {
  std::string_view path;
  std::optional<std::string_view> place;
  bool confirmed = false;

  static constexpr std::string_view kShape = "owner";
  static void describe(auto&& field) {
    field("path", &StoryOwner::path, "from a variable, a module or a cycle, as a person writes it");
    field("place", &StoryOwner::place, "where the frame stood that is the root of this path; null: another root");
    field("confirmed", &StoryOwner::confirmed,
          "each reference was found again in a second reading, and that there is no root in two");
  }
};

/// An event in the life of a storage.
struct StoryEvent {
  enum class What { kFirstSeen, kBorn, kMark, kLastReference, kBlockAllocated, kBlockFreed };

  What what = What::kMark;
  RunPoint at;
  TimeNs after_start;
  Actor by;
  // Only for marks:
  analyzer::MarkKind kind = analyzer::MarkKind::kOther;
  std::string_view name;  ///< of the operator, the kernel or the mark
  std::optional<analyzer::Key> key;
  std::string graph_name;  ///< of the key, if its graph is not 0
  bool final = false, by_kernel = false;
  std::int64_t uses_left = 0;
  std::optional<Bytes> bytes, bytes_after;
  TimeNs lasted;
};

struct StorageView {
  std::string path;
  std::int64_t rank = -1;
  StorageId storage;
  Bytes bytes_at_birth;
  bool birth_is_first_sight = false;
  RunPoint born;
  Actor born_by;
  std::optional<RunPoint> last_reference_gone;
  std::optional<Actor> last_reference_gone_by;
  std::optional<Gone> bytes_gone;
  analyzer::EndedBy ended_by = analyzer::EndedBy::kAlive;
  std::vector<StoryBlock> blocks;
  std::vector<StoryTensor> tensors;
  std::vector<Release> releases;
  std::vector<analyzer::Holders> censuses;
  std::vector<StoryOwner> owners;  ///< without duplicates
  std::vector<CountStory> references;

  bool gathered = false;
  std::vector<StoryEvent> events;        ///< in order
  std::optional<TimeNs> held_for;        ///< time past its final release, if that release freed nothing
  std::optional<std::string> let_go_by;  ///< the other thread that still held it (analyzer/releases/late.h)

  static constexpr std::string_view kShape = "show storage";
  static void describe(auto&& field) {
    field("path", &StorageView::path, "");
    field("rank", &StorageView::rank, "");
    field("storage", &StorageView::storage, "");
    field("bytes_at_birth", &StorageView::bytes_at_birth, "");
    field("birth_is_first_sight", &StorageView::birth_is_first_sight, "the storage may be older than `born`");
    field("born", &StorageView::born, "");
    field("born_by", &StorageView::born_by, "");
    field("last_reference_gone", &StorageView::last_reference_gone, "null: alive to the end of the trace");
    field("last_reference_gone_by", &StorageView::last_reference_gone_by, "");
    field("bytes_gone", &StorageView::bytes_gone, "when its bytes went for good");
    field("ended_by", &StorageView::ended_by, "\"release\", \"last_reference\", \"other\", \"alive\"");
    field("blocks", &StorageView::blocks, "");
    field("tensors", &StorageView::tensors,
          "that were on it; with detail `lifetimes`, the first one and, from a gather on, all");
    field("releases", &StorageView::releases, "of it");
    field("censuses", &StorageView::censuses, "of it");
    field("owners", &StorageView::owners,
          "of it, in all readings of the memory; those of the latest first, of them the one that reads best");
    field("references", &StorageView::references, "by the counts that `run --watch` has watched");
  }
};

[[nodiscard]] ReleasesView releases_view(const std::string& path, const analyzer::Analysis& analysis);
[[nodiscard]] PeakView peak_view(const std::string& path, const analyzer::Analysis& analysis);
/// The point in time that `at` names (analyzer::find_point). kUsage if there is no such point, or if the rows of that
/// part of the run were not kept.
[[nodiscard]] Expected<Sequence> point_named(const std::string& path, const analyzer::Analysis& analysis,
                                             const std::string& at);
/// What is alive at the point that `at` names. `any_device`: the view is of the report's first device, or of the device
/// that ran out of memory at that point. kUsage if there is no such point, or if its rows were not kept.
[[nodiscard]] Expected<LiveView> live_view(const std::string& path, const analyzer::Analysis& analysis,
                                           const std::string& at, bool any_device);
/// kUsage if the trace has no such storage.
[[nodiscard]] Expected<StorageView> storage_view(const std::string& path, const analyzer::Analysis& analysis,
                                                 StorageId storage);

}  // namespace dcmt::model
