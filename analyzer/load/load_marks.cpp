// Loads marks, launches and results of censuses.
#include <string>

#include "analyzer/load/row_cursor.h"
#include "analyzer/load/trace_data.h"

namespace dcmt::analyzer {
namespace {

constexpr Name<MarkKind> kMarkKinds[] = {
    {"step", MarkKind::kStep},       {"phase", MarkKind::kPhase},   {"user", MarkKind::kUser},
    {"gather", MarkKind::kGather},   {"wait", MarkKind::kWait},     {"persist", MarkKind::kPersist},
    {"release", MarkKind::kRelease}, {"read", MarkKind::kRead},     {"touch", MarkKind::kTouch},
    {"write", MarkKind::kWrite},     {"census", MarkKind::kCensus}, {"resize", MarkKind::kResize},
    {"repoint", MarkKind::kRepoint},
};
constexpr Name<Subject> kSubjects[] = {
    {"storage", Subject::kStorage}, {"tensor", Subject::kTensor}, {"object", Subject::kObject}};
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
  DCMT_ASSIGN_OR_RETURN(const bool dtypes, has_column(database, "mark", "dtype"));
  DCMT_RETURN_IF_ERROR(
      read_rows(database,
                std::string("SELECT id, parent, kind, flags, name, trigger, graph, key, cycle, storage, tensor, ") +
                    (dtypes ? "dtype" : "NULL") +  // not before schema 5
                    ", bytes, bytes_after, bytes_settled, settled_seq, settled_ns, declared, remaining, ordinal, "
                    "value, thread, operator, stack, from_seq, "
                    "to_seq, from_ns, to_ns FROM mark ORDER BY id",
                [&](Cursor& in) {
                  Mark mark;
                  mark.id = in.id<MarkId>();
                  mark.parent = in.id<MarkId>();
                  mark.kind = named(in.text(), kMarkKinds, MarkKind::kOther);
                  mark.flags = parse_flags(in.text());
                  mark.name = in.id<StringId>();
                  mark.trigger = intern(printable(in.text()));
                  const std::optional<std::int64_t> graph = in.optional_any();
                  const std::optional<std::int64_t> key = in.optional_any();
                  if (key) mark.key = Key{graph.value_or(0), *key};
                  mark.cycle = in.integer();
                  mark.storage = in.id<StorageId>();
                  mark.tensor = in.id<TensorId>();
                  mark.dtype = in.id<StringId>();
                  mark.bytes = in.optional_bytes();
                  mark.bytes_after = in.optional_bytes();
                  mark.bytes_settled = in.optional_bytes();
                  mark.settled_seq = in.id<Sequence>();
                  mark.settled_ns = in.id<TimeNs>();
                  mark.declared = in.optional_integer();
                  mark.remaining = in.optional_integer();
                  mark.ordinal = in.optional_integer();
                  mark.value = in.optional_integer();
                  mark.by = in.actor();
                  mark.span = in.span();
                  if (mark.kind != MarkKind::kResize) {
                    marks.push_back(mark);
                  } else if (mark.storage.valid()) {
                    resizes.push_back({mark.storage, mark.span.from_seq, mark.span.from_ns, mark.bytes, mark.by});
                  }
                }));
  return read_rows(database, "SELECT id, looking, calls, graphs, nccl, unknown, copies FROM launches ORDER BY id",
                   [&](Cursor& in) {
                     LaunchesSoFar row;
                     row.seq = in.id<Sequence>();
                     row.observed = in.integer() != 0;
                     row.counts.calls = in.run_count();
                     row.counts.graphs = in.run_count();
                     row.counts.nccl = in.run_count();
                     row.counts.unknown = in.run_count();
                     row.counts.copies = in.run_count();
                     launches.push_back(row);
                   });
}

Status TraceData::load_censuses(Database& database) {
  DCMT_RETURN_IF_ERROR(read_rows(
      database, "SELECT id, census, subject, storage, tensor, count, explained, unexplained FROM sample ORDER BY id",
      [&](Cursor& in) {
        Sample sample;
        sample.id = in.id<SampleId>();
        sample.census = in.id<MarkId>();
        sample.subject = named(in.text(), kSubjects, Subject::kStorage);
        sample.storage = in.id<StorageId>();
        sample.tensor = in.id<TensorId>();
        sample.count = in.integer();
        sample.explained = in.integer();
        sample.unexplained = in.integer();
        samples.push_back(sample);
      }));
  return read_rows(
      database,
      "SELECT id, census, storage, held, tensor, holder, object, thread, name, function, file, assignment, model_file, "
      "model_text, line, current_line, delete_line, return_line, model_line, confidence, from_seq, to_seq, from_ns, "
      "to_ns FROM edge ORDER BY id",
      [&](Cursor& in) {
        Edge edge;
        edge.id = in.id<EdgeId>();
        edge.census = in.id<MarkId>();
        edge.storage = in.id<StorageId>();
        edge.held = named(in.text(), kSubjects, Subject::kStorage);
        edge.tensor = in.id<TensorId>();
        edge.holder = named(in.text(), kHolders, HolderKind::kOther);
        edge.object = in.any();
        edge.thread = in.thread();
        edge.name = in.id<StringId>();
        edge.function = in.id<StringId>();
        edge.file = in.id<StringId>();
        edge.assignment = in.id<StringId>();
        edge.model_file = in.id<StringId>();
        edge.model_text = in.id<StringId>();
        edge.line = in.optional_integer();
        edge.current_line = in.optional_integer();
        edge.delete_line = in.optional_integer();
        edge.return_line = in.optional_integer();
        edge.model_line = in.optional_integer();
        edge.certain = in.text() == "certain";
        edge.span = in.span();
        edges.push_back(edge);
      });
}

}  // namespace dcmt::analyzer
