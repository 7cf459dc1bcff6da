// Loads marks, launches and results of censuses.
#include <optional>
#include <string_view>

#include "analyzer/load/table_reader.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {
namespace {

constexpr Name<MarkKind> kMarkKinds[] = {
    {"step", MarkKind::kStep},       {"phase", MarkKind::kPhase},   {"user", MarkKind::kUser},
    {"gather", MarkKind::kGather},   {"wait", MarkKind::kWait},     {"persist", MarkKind::kPersist},
    {"release", MarkKind::kRelease}, {"read", MarkKind::kRead},     {"touch", MarkKind::kTouch},
    {"write", MarkKind::kWrite},     {"census", MarkKind::kCensus}, {"resize", MarkKind::kResize},
    {"repoint", MarkKind::kRepoint}, {"fence", MarkKind::kFence},   {"fence_touch", MarkKind::kFenceTouch},
    {"poison", MarkKind::kPoison},   {"result", MarkKind::kResult},
};
constexpr Name<HolderKind> kHolders[] = {{"tensor", HolderKind::kTensor}, {"python_object", HolderKind::kPythonObject},
                                         {"local", HolderKind::kLocal},   {"cell", HolderKind::kCell},
                                         {"free", HolderKind::kFree},     {"eval_stack", HolderKind::kEvalStack},
                                         {"view", HolderKind::kView}};

struct FlagName {
  std::string_view text;
  void (*set)(MarkFlags&);
};
constexpr FlagName kFlags[] = {
    {"final", [](MarkFlags& flags) { flags.final = true; }},
    {"persistent", [](MarkFlags& flags) { flags.persistent = true; }},
    {"mismatch", [](MarkFlags& flags) { flags.mismatch = true; }},
    {"no_gather", [](MarkFlags& flags) { flags.no_gather = true; }},
    {"function", [](MarkFlags& flags) { flags.function = true; }},
    {"shared", [](MarkFlags& flags) { flags.shared = true; }},
    {"explicit", [](MarkFlags& flags) { flags.explicit_mark = true; }},
    {"unwound", [](MarkFlags& flags) { flags.unwound = true; }},
    {"not_settled", [](MarkFlags& flags) { flags.not_settled = true; }},
    {"untracked", [](MarkFlags& flags) { flags.untracked = true; }},
    {"metadata_only", [](MarkFlags& flags) { flags.metadata_only = true; }},
    {"unstable", [](MarkFlags& flags) { flags.unstable = true; }},
    {"other_threads_unseen", [](MarkFlags& flags) { flags.other_threads_unseen = true; }},
    {"sharing_lossy", [](MarkFlags& flags) { flags.sharing_lossy = true; }},
    {"kernel", [](MarkFlags& flags) { flags.kernel = true; }},
    {"foreign", [](MarkFlags& flags) { flags.foreign = true; }},
    {"gpu", [](MarkFlags& flags) { flags.gpu = true; }},
    {"refused", [](MarkFlags& flags) { flags.refused = true; }},
    {"write", [](MarkFlags& flags) { flags.write = true; }},
    {"unseen", [](MarkFlags& flags) { flags.unseen = true; }},
};

MarkFlags parse_flags(std::string_view text) {
  MarkFlags flags;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    for (const FlagName& name : kFlags) {
      if (name.text == word) name.set(flags);
    }
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
  }
  return flags;
}

}  // namespace

Status TraceData::load_marks(Database& database) {
  const auto keep = [this](const Mark& mark) {
    if (mark.kind != MarkKind::kResize) {
      marks.push_back(mark);
    } else if (mark.storage.valid()) {
      resizes.push_back({mark.storage, mark.span.from_seq, mark.span.from_ns, mark.bytes, mark.by});
    }
  };
  std::optional<std::int64_t> graph;
  DCMT_RETURN_IF_ERROR(read_rows<Mark>(
      database, "ORDER BY id", keep, column<&MarkRow::id, &Mark::id>(), column<&MarkRow::parent, &Mark::parent>(),
      column<&MarkRow::kind>(
          [](Mark& mark, std::string_view text) { mark.kind = named(text, kMarkKinds, MarkKind::kOther); }),
      column<&MarkRow::flags>([](Mark& mark, std::string_view text) { mark.flags = parse_flags(text); }),
      column<&MarkRow::name, &Mark::name>(),
      column<&MarkRow::trigger>([this](Mark& mark, std::string_view text) { mark.trigger = intern(printable(text)); }),
      column<&MarkRow::graph>(
          [&](Mark& /*mark*/, std::optional<Any> any) { graph = any ? std::optional(any->value) : std::nullopt; }),
      column<&MarkRow::key>([&](Mark& mark, std::optional<Any> key) {
        if (key) mark.key = Key{graph.value_or(0), key->value};
      }),
      column<&MarkRow::cycle>([](Mark& mark, std::optional<std::int64_t> cycle) { mark.cycle = cycle.value_or(0); }),
      column<&MarkRow::storage, &Mark::storage>(), column<&MarkRow::tensor, &Mark::tensor>(),
      column<&MarkRow::dtype, &Mark::dtype>(), column<&MarkRow::bytes, &Mark::bytes>(),
      column<&MarkRow::bytes_after, &Mark::bytes_after>(), column<&MarkRow::bytes_settled, &Mark::bytes_settled>(),
      column<&MarkRow::settled>([](Mark& mark, const PointInTime& at) {
        mark.settled_seq = at.seq;
        mark.settled_ns = at.ns;
      }),
      column<&MarkRow::declared, &Mark::declared>(), column<&MarkRow::remaining, &Mark::remaining>(),
      column<&MarkRow::ordinal, &Mark::ordinal>(), column<&MarkRow::value, &Mark::value>(),
      column<&MarkRow::thread>([](Mark& mark, ThreadId thread) { mark.by.thread = thread; }),
      column<&MarkRow::operator_id>([](Mark& mark, OperatorId op) { mark.by.op = op; }),
      column<&MarkRow::stack>([](Mark& mark, StackId stack) { mark.by.stack = stack; }),
      column<&MarkRow::span, &Mark::span>()));
  return read_rows<LaunchesSoFar>(
      database, "ORDER BY id", [this](const LaunchesSoFar& row) { launches.push_back(row); },
      column<&LaunchesRow::id, &LaunchesSoFar::seq>(), column<&LaunchesRow::observed, &LaunchesSoFar::observed>(),
      column<&LaunchesRow::calls>([](LaunchesSoFar& row, std::int64_t count) { row.counts.calls = count; }),
      column<&LaunchesRow::graphs>([](LaunchesSoFar& row, std::int64_t count) { row.counts.graphs = count; }),
      column<&LaunchesRow::nccl>([](LaunchesSoFar& row, std::int64_t count) { row.counts.nccl = count; }),
      column<&LaunchesRow::unknown>([](LaunchesSoFar& row, std::int64_t count) { row.counts.unknown = count; }),
      column<&LaunchesRow::copies>([](LaunchesSoFar& row, std::int64_t count) { row.counts.copies = count; }));
}

Status TraceData::load_censuses(Database& database) {
  DCMT_RETURN_IF_ERROR(read_rows<Sample>(
      database, "ORDER BY id", [this](const Sample& sample) { samples.push_back(sample); },
      column<&SampleRow::id, &Sample::id>(), column<&SampleRow::census, &Sample::census>(),
      column<&SampleRow::subject>([](Sample& sample, std::string_view text) { sample.subject = subject_named(text); }),
      column<&SampleRow::storage, &Sample::storage>(), column<&SampleRow::tensor, &Sample::tensor>(),
      column<&SampleRow::count, &Sample::count>(), column<&SampleRow::explained, &Sample::explained>(),
      column<&SampleRow::unexplained, &Sample::unexplained>()));
  return read_rows<Edge>(
      database, "ORDER BY id", [this](const Edge& edge) { edges.push_back(edge); }, column<&EdgeRow::id, &Edge::id>(),
      column<&EdgeRow::census, &Edge::census>(), column<&EdgeRow::storage, &Edge::storage>(),
      column<&EdgeRow::held>([](Edge& edge, std::string_view text) { edge.held = subject_named(text); }),
      column<&EdgeRow::tensor, &Edge::tensor>(), column<&EdgeRow::holder>([](Edge& edge, std::string_view text) {
        edge.holder = named(text, kHolders, HolderKind::kOther);
      }),
      column<&EdgeRow::object, &Edge::object>(), column<&EdgeRow::thread, &Edge::thread>(),
      column<&EdgeRow::name, &Edge::name>(), column<&EdgeRow::function, &Edge::function>(),
      column<&EdgeRow::file, &Edge::file>(), column<&EdgeRow::assignment, &Edge::assignment>(),
      column<&EdgeRow::model_file, &Edge::model_file>(), column<&EdgeRow::model_text, &Edge::model_text>(),
      column<&EdgeRow::line, &Edge::line>(), column<&EdgeRow::current_line, &Edge::current_line>(),
      column<&EdgeRow::delete_line, &Edge::delete_line>(), column<&EdgeRow::return_line, &Edge::return_line>(),
      column<&EdgeRow::model_line, &Edge::model_line>(),
      column<&EdgeRow::confidence>([](Edge& edge, std::string_view text) { edge.certain = text == "certain"; }),
      column<&EdgeRow::span, &Edge::span>());
}

}  // namespace dcmt::analyzer
