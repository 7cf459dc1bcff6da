// The result of `reproduce`: a plan in the form of the file that a replay reads, and the outcome of a replay.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/releases.h"
#include "analyzer/replay/replay_comparison.h"
#include "analyzer/replay/replay_plan.h"

namespace dcmt::model {

struct PlanHolder {
  analyzer::HolderKind kind = analyzer::HolderKind::kLocal;
  std::string name, function;

  static constexpr std::string_view kShape = "plan_holder";
  static void describe(auto&& field) {
    field("kind", &PlanHolder::kind, "\"local\", \"cell\", \"free\", \"eval_stack\"");
    field("name", &PlanHolder::name, "");
    field("function", &PlanHolder::function, "");
  }
};

struct PlanBuffer {
  std::int64_t graph = 0, key = 0, id = 0;
  StorageId storage;
  Bytes bytes;
  std::optional<std::string_view> dtype;
  std::optional<std::int32_t> stream;
  bool persistent = false;
  std::optional<std::size_t> shares;
  std::vector<PlanHolder> holders;
  bool unnamed = false;

  static constexpr std::string_view kShape = "plan_buffer";
  static void describe(auto&& field) {
    field("graph", &PlanBuffer::graph, "");
    field("key", &PlanBuffer::key, "the parameter as recorded");
    field("id", &PlanBuffer::id,
          "the parameter in the replay: another number where two graphs have the same `key`, or sizes differ");
    field("storage", &PlanBuffer::storage, "");
    field("bytes", &PlanBuffer::bytes, "of its block");
    field("dtype", &PlanBuffer::dtype, "of its elements, as torch calls it (\"bfloat16\"); null: not recorded");
    field("stream", &PlanBuffer::stream, "it was allocated on; null: not recorded");
    field("persistent", &PlanBuffer::persistent, "");
    field("shares", &PlanBuffer::shares,
          "the first of the buffers that lie in one storage; from marks: the executor has one storage a parameter");
    field("holders", &PlanBuffer::holders,
          "the variables that a census found, which hold it in the replay; none: one variable");
    field("unnamed", &PlanBuffer::unnamed, "something without a name held it too: in the replay a container");
  }
};

struct PlanEvent {
  analyzer::ReplayDo what = analyzer::ReplayDo::kLevel;
  Sequence at;
  std::optional<ThreadId> thread;
  std::optional<std::size_t> buffer;
  std::optional<std::int64_t> value;
  bool again = false, inside_release = false, clears_tensor_only = false;

  static constexpr std::string_view kShape = "plan_event";
  static void describe(auto&& field) {
    field(
        "do", &PlanEvent::what,
        "\"level\": all but the buffers takes `value` bytes; \"make\": the storage of a pool's buffer, before its "
        "first gather; \"gather\", \"wait\", \"release\" (of `value` uses); "
        "\"read\": an "
        "operator takes it after its release, with `value` bytes there; \"drop\": its last name goes; \"forget\": who "
        "gathered it knows it no more; \"empty\": its bytes go under it; \"operator\": one that has nothing to do with "
        "any "
        "buffer; \"memory\": `value` bytes are asked for that nobody has; \"step\": step `value` ends");
    field("at", &PlanEvent::at, "sequence in the trace");
    field("thread", &PlanEvent::thread, "null: any");
    field("buffer", &PlanEvent::buffer, "index in `buffers`");
    field("value", &PlanEvent::value, "");
    field("again", &PlanEvent::again, "a gather that finds the buffer there");
    field("inside_release", &PlanEvent::inside_release,
          "a drop: it is the next release of the buffer that lets go of the last name");
    field("clears_tensor_only", &PlanEvent::clears_tensor_only,
          "a release that leaves the storage to whoever else refers to it");
  }
};

/// The file that dcmt_zero3.replay reads. Points into the plan.
struct PlanFile {
  std::string trace;
  std::string_view device;
  std::optional<std::int64_t> first_step, last_step;
  bool cut_off = false;
  Bytes begin;
  std::vector<ThreadId> threads;
  Range<PlanBuffer> buffers;
  std::size_t prologue = 0;
  Range<PlanEvent> events;
  analyzer::ReplayFacts expected;
  std::vector<std::string> notes;

  static constexpr std::string_view kShape = "plan";
  static void describe(auto&& field) {
    field("trace", &PlanFile::trace, "path");
    field("device", &PlanFile::device, "of the gathered storages; a replay is on the CPU");
    field("first_step", &PlanFile::first_step, "null: the whole run");
    field("last_step", &PlanFile::last_step, "");
    field("cut_off", &PlanFile::cut_off, "a signal ended the program: the replay ends by one");
    field("begin_bytes", &PlanFile::begin, "allocated when the stretch begins");
    field("threads", &PlanFile::threads, "that events are of, the one with most of them first");
    field("buffers", &PlanFile::buffers, "");
    field("prologue", &PlanFile::prologue, "so many events bring about the state in which the stretch begins");
    field("events", &PlanFile::events,
          "in order; after the last step, what completes its cycles: releases of what was gathered in it, reads after "
          "its "
          "releases");
    field("expected", &PlanFile::expected, "what the trace says, which the replay's trace is compared with");
    field("notes", &PlanFile::notes, "what of the stretch is not in the plan");
  }
};

/// Verdicts of replayed releases. Each of these releases has a gather.
struct ReplayVerdicts : VerdictCounts {
  static constexpr std::string_view kShape = "verdict_counts";
  static void describe(auto&& field) {
    field("freed", &ReplayVerdicts::freed, "");
    field("late", &ReplayVerdicts::late, "");
    field("never", &ReplayVerdicts::never, "");
    field("early", &ReplayVerdicts::early, "");
    field("counted", &ReplayVerdicts::counted, "");
    field("persistent", &ReplayVerdicts::persistent, "");
    field("shared", &ReplayVerdicts::shared, "");
    field("recycled", &ReplayVerdicts::recycled, "");
    field("untracked", &ReplayVerdicts::untracked, "");
    field("unknown", &ReplayVerdicts::unknown, "");
  }
};

/// One replay: the findings of a stretch of the run. Points into the plan and the facts.
struct ReplayView {
  std::vector<std::int64_t> findings;
  std::optional<std::int64_t> first_step, last_step;
  std::int64_t events = 0, buffers = 0;
  std::vector<std::string> switches;
  std::optional<bool> reproduced;
  std::optional<analyzer::ReplayDifference> difference;
  std::int64_t releases = 0;
  ReplayVerdicts recorded_verdicts, replayed_verdicts;
  Bytes recorded_peak;
  std::optional<Bytes> predicted_peak;
  Bytes replayed_peak;
  std::vector<std::string> notes;

  std::vector<std::string> titles;  ///< of the findings
  bool after_last_step = false;     ///< without a step: only what follows the last step, not the whole run
  std::int64_t gathers = 0, release_events = 0, threads = 0;  ///< of the plan
  bool holders_known = false;                                 ///< for some release
  std::optional<analyzer::Key> differing_key;                 ///< of the release that differs
  std::optional<StorageId> differing_storage;
  bool frees_by_switch = false;  ///< a switch makes releases free the storage, as the prediction assumes

  static constexpr std::string_view kShape = "replay";
  static void describe(auto&& field) {
    field("findings", &ReplayView::findings,
          "their numbers in the report; none: a step was asked for, or there is no finding");
    field("first_step", &ReplayView::first_step, "null: the whole run");
    field("last_step", &ReplayView::last_step, "");
    field("events", &ReplayView::events, "of the plan");
    field("buffers", &ReplayView::buffers, "gathered storages");
    field("switches", &ReplayView::switches, "as given: \"name\", \"name=off\"");
    field("reproduced", &ReplayView::reproduced, "null: with switches nothing is expected to be as recorded");
    field("difference", &ReplayView::difference, "the first one");
    field("releases", &ReplayView::releases, "compared");
    field("recorded_verdicts", &ReplayView::recorded_verdicts, "");
    field("replayed_verdicts", &ReplayView::replayed_verdicts, "");
    field("recorded_peak_bytes", &ReplayView::recorded_peak, "of the stretch");
    field("predicted_peak_bytes", &ReplayView::predicted_peak,
          "of the stretch, had every residual storage been freed at its release");
    field("replayed_peak_bytes", &ReplayView::replayed_peak, "");
    field("notes", &ReplayView::notes, "what of the stretch was not replayed");
  }
};

struct ReproduceView {
  std::string path;
  std::int64_t rank = -1;
  std::vector<ReplayView> replays;

  static constexpr std::string_view kShape = "reproduce";
  static void describe(auto&& field) {
    field("path", &ReproduceView::path, "");
    field("rank", &ReproduceView::rank, "");
    field("replays", &ReproduceView::replays, "one for each stretch of the run that findings lie in");
  }
};

/// A replay and its result.
struct Replay {
  std::vector<const analyzer::Finding*> findings;  ///< empty: a step was requested
  analyzer::ReplayPlan plan;
  std::vector<std::string> switches;  ///< as given: "name", "name=off"
  analyzer::ReplayFacts facts;        ///< of the replay
  std::optional<analyzer::ReplayDifference> difference;
};

/// `plan` must outlive the result.
[[nodiscard]] PlanFile plan_file(const std::string& path, const TraceData& data, const analyzer::ReplayPlan& plan);
[[nodiscard]] ReproduceView reproduce_view(const std::string& path, const analyzer::Analysis& analysis,
                                           const std::vector<Replay>& replays);

}  // namespace dcmt::model
