#include "cli/report_json.h"

#include "analyzer/storages/stacks.h"
#include "analyzer/time/timeline.h"
#include "cli/remarks_text.h"

namespace dcmt::cli {
namespace {

using analyzer::Actor;
using analyzer::Analysis;
using analyzer::Block;
using analyzer::Count;
using analyzer::CurveOverview;
using analyzer::CurveRow;
using analyzer::CurveStretch;
using analyzer::Cycle;
using analyzer::describe_frame;
using analyzer::describe_site;
using analyzer::DeviceAnalysis;
using analyzer::DeviceCurve;
using analyzer::DiagnosticFact;
using analyzer::Finding;
using analyzer::FindingItem;
using analyzer::frames_of;
using analyzer::FrameText;
using analyzer::Gone;
using analyzer::Group;
using analyzer::group_blocks;
using analyzer::GroupBy;
using analyzer::HolderName;
using analyzer::HolderPath;
using analyzer::Holders;
using analyzer::is_gathered;
using analyzer::kNoThread;
using analyzer::LaunchCoverage;
using analyzer::live_blocks;
using analyzer::LossFact;
using analyzer::Mark;
using analyzer::name_of;
using analyzer::named_operator;
using analyzer::Operator;
using analyzer::OperatorCount;
using analyzer::Peak;
using analyzer::ReleaseRow;
using analyzer::Releases;
using analyzer::RunFacts;
using analyzer::Step;
using analyzer::StepSurvivors;
using analyzer::Storage;
using analyzer::StorageStory;
using analyzer::SurvivorSite;
using analyzer::Tensor;
using analyzer::TraceData;
using analyzer::Verdict;
using analyzer::WhatIf;

template <class Id>
Json id_json(Id id) {
  return id.valid() ? Json(id.value) : Json();
}

Json stack_json(const TraceData& data, StackId stack) {
  Json frames = Json::array();
  for (const FrameText& frame : frames_of(data, stack)) {
    frames.push_back({{"file", frame.file}, {"line", frame.line}, {"function", frame.function}});
  }
  return frames;
}

Json operator_json(const TraceData& data, OperatorId id) {
  const Operator* op = data.operators.find(id);
  return op != nullptr ? Json(data.text(op->name)) : Json();
}

Json actor_json(const TraceData& data, const Actor& actor) {
  const Operator* named = named_operator(data, actor.op);
  return {{"thread", actor.thread == kNoThread ? Json() : Json(actor.thread.value)},
          {"operator", operator_json(data, actor.op)},
          {"outer_operator", named != nullptr ? Json(data.text(named->name)) : Json()},
          {"site", describe_site(data, actor.stack)},
          {"stack", stack_json(data, actor.stack)}};
}

Json mark_json(const TraceData& data, const Mark* mark) {
  if (mark == nullptr) return {};
  return {{"mark", mark->id.value},
          {"name", text_json(data, mark->name)},
          {"at", moment_json(mark->span.from_seq, mark->span.from_ns)},
          {"by", actor_json(data, mark->by)}};
}

Json read_json(const TraceData& data, const Mark& read) {
  Json json = mark_json(data, &read);
  json["by_kernel"] = read.flags.kernel;
  json["bytes"] = bytes_json(read.bytes);
  json["ordinal"] = optional_json(read.ordinal);
  return json;
}

Json touch_json(const TraceData& data, const Mark* touch) {
  if (touch == nullptr) return {};
  return {{"kernel", text_json(data, touch->name)},
          {"launches", optional_json(touch->value)},
          {"ns_before_release", touch->span.to_ns.value - touch->span.from_ns.value}};
}

Json gone_json(const TraceData& data, const std::optional<Gone>& gone) {
  if (!gone) return {};
  return {{"how", name_of(gone->by)}, {"at", moment_json(gone->seq, gone->ns)}, {"by", actor_json(data, gone->actor)}};
}

Json count_json(const OperatorCount& count) {
  return {{"at_least", count.at_least}, {"at_most", optional_json(count.at_most)}, {"in_trace", count.in_trace}};
}

Json launches_json(const std::optional<LaunchCoverage>& launches) {
  if (!launches) return {};
  return {{"seen", launches->counts.calls},    {"graphs", launches->counts.graphs},
          {"nccl", launches->counts.nccl},     {"unknown", launches->counts.unknown},
          {"copies", launches->counts.copies}, {"all_the_time", launches->whole}};
}

Json step_json(const Step* step) { return step != nullptr ? Json(step->number) : Json(); }

Json holders_json(const TraceData& data, const std::optional<Holders>& holders) {
  if (!holders) return {};
  Json paths = Json::array();
  for (const HolderPath& path : holders->paths) {
    Json names = Json::array();
    for (const HolderName& name : path.names) {
      names.push_back({{"edge", name.edge.value},
                       {"kind", name_of(name.kind)},
                       {"name", text_json(data, name.name)},
                       {"line", optional_json(name.line)},
                       {"assignment", text_json(data, name.assignment)},
                       {"delete_line", optional_json(name.delete_line)}});
    }
    paths.push_back({{"function", text_json(data, path.function)},
                     {"file", text_json(data, path.file)},
                     {"generated", path.generated},
                     {"object", path.object},
                     {"tensor", id_json(path.tensor)},
                     {"names", std::move(names)},
                     {"current_line", optional_json(path.current_line)},
                     {"return_line", optional_json(path.return_line)},
                     {"model_file", text_json(data, path.model_file)},
                     {"model_line", optional_json(path.model_line)},
                     {"model_text", text_json(data, path.model_text)},
                     {"certain", path.certain},
                     {"held_since_at_most", moment_json(path.seen_seq, path.seen_ns)}});
  }
  Json counts = Json::array();
  for (const Count& count : holders->counts) {
    counts.push_back({{"sample", count.sample.value},
                      {"subject", name_of(count.subject)},
                      {"tensor", id_json(count.tensor)},
                      {"count", count.count},
                      {"explained", count.explained},
                      {"unexplained", count.unexplained}});
  }
  const Mark& census = *holders->census;
  return {{"census", census.id.value},
          {"at", moment_json(census.span.from_seq, census.span.from_ns)},
          {"trigger", text_json(data, census.trigger)},
          {"unstable", census.flags.unstable},
          {"other_threads_unseen", census.flags.other_threads_unseen},
          {"sharing_lossy", census.flags.sharing_lossy},
          {"certain", holders->certain()},
          {"paths", std::move(paths)},
          {"counts", std::move(counts)}};
}

Json release_json(const TraceData& data, const ReleaseRow& row) {
  const Mark& mark = *row.mark;
  Json reads = Json::array();
  for (const Mark* read : row.reads) reads.push_back(read_json(data, *read));
  return {{"release", mark_json(data, &mark)},
          {"gather", mark_json(data, row.gather)},
          {"key", key_json(row.key)},
          {"cycle", mark.cycle},
          {"step", step_json(row.step)},
          {"verdict", name_of(row.verdict)},
          {"residual", row.residual},
          {"metadata_only", row.metadata_only},
          {"final", mark.flags.final},
          {"persistent", mark.flags.persistent},
          {"mismatch", mark.flags.mismatch},
          {"no_gather", mark.flags.no_gather},
          {"shared", mark.flags.shared},
          {"function", mark.flags.function},
          {"explicit", mark.flags.explicit_mark},
          {"unwound", mark.flags.unwound},
          {"declared", optional_json(mark.declared)},
          {"remaining", optional_json(mark.remaining)},
          {"storage", id_json(mark.storage)},
          {"bytes_before", bytes_json(mark.bytes)},
          {"bytes_after", bytes_json(mark.bytes_after)},
          {"bytes_settled", bytes_json(mark.bytes_settled)},
          {"settled", moment_json(mark.settled_seq, mark.settled_ns)},
          {"gone", gone_json(data, row.gone)},
          {"operators_held", count_json(row.operators_held)},
          {"launches", launches_json(row.launches)},
          {"last_touch", touch_json(data, row.last_touch)},
          {"reads", std::move(reads)},
          {"holders", holders_json(data, row.holders)}};
}

Json groups_json(const std::vector<Group>& groups) {
  Json json = Json::array();
  for (const Group& group : groups) {
    json.push_back({{"name", group.name},
                    {"bytes", group.bytes.value},
                    {"blocks", group.blocks},
                    {"storages", group.storages},
                    {"largest_block", id_json(group.largest)}});
  }
  return json;
}

void add_live_groups(const TraceData& data, const analyzer::PhaseIndex& phases, const std::vector<const Block*>& live,
                     Sequence at, Json& json) {
  for (const auto& [name, by] : analyzer::kGroupNames) {
    json["by_" + std::string(name)] = groups_json(group_blocks(data, phases, live, by, at));
  }
}

Json device_json(const TraceData& data, const DeviceAnalysis& device, const std::vector<Finding>& findings) {
  const WhatIf& what_if = device.what_if;
  const analyzer::DevicePeaks peaks = analyzer::device_peaks_of(data, device.device);
  Json numbers = Json::array();
  for (const Finding& finding : findings) {
    if (finding.device == device.device && finding.predicted_peak) numbers.push_back(finding.number);
  }
  Json shared = Json::array();
  for (const analyzer::SharedBytes& bytes : device.shared) {
    shared.push_back({{"findings", bytes.findings}, {"bytes", bytes.at_peak.value}});
  }
  return {{"device", text_json(data, device.device)},
          {"bytes", what_if.measured.bytes.value},
          {"at", moment_json(what_if.measured.seq, what_if.measured.ns)},
          {"step", step_json(device.peak_step)},
          {"phase", device.peak_phase != nullptr ? text_json(data, device.peak_phase->name) : Json()},
          {"active_bytes", bytes_json(peaks.active)},
          {"reserved_bytes", bytes_json(peaks.reserved)},
          {"needed_bytes", what_if.needed_at_peak.value},
          {"dead_bytes", what_if.dead_at_peak.value},
          {"predicted_bytes", what_if.predicted.bytes.value},
          {"predicted_last_use_bytes", what_if.predicted_last_use.bytes.value},
          {"last_use_known", what_if.last_use_known},
          {"without_findings", std::move(numbers)},
          {"shared", std::move(shared)}};
}

Json peak_object(const TraceData& data, const Analysis& analysis) {
  const DeviceAnalysis& device = analysis.main();
  const Peak& peak = device.what_if.measured;
  const Actor by = peak.block != nullptr ? peak.block->birth : Actor();
  Json json = device_json(data, device, analysis.findings);
  json["block"] = peak.block != nullptr ? Json(peak.block->id.value) : Json();
  json["by"] = actor_json(data, by);
  add_live_groups(data, analysis.phases, live_blocks(data, device.device, peak.seq), peak.seq, json);
  return json;
}

Json out_of_memory_json(const TraceData& data, const analyzer::OomVerdict& verdict) {
  const analyzer::OutOfMemory& oom = *verdict.oom;
  return {{"at", moment_json(oom.seq, oom.ns)},
          {"step", step_json(verdict.step)},
          {"device", text_json(data, oom.device)},
          {"requested_bytes", oom.requested.value},
          {"allocated_bytes", verdict.allocated.value},
          {"reserved_bytes", bytes_json(oom.reserved)},
          {"free_bytes", bytes_json(oom.free)},
          {"total_bytes", bytes_json(oom.total)},
          {"dead_bytes", verdict.dead.value},
          {"missing_bytes", verdict.missing.value},
          {"cause", name_of(verdict.cause)},
          {"fits_without_dead", verdict.fits_without_dead},
          {"went_on", verdict.went_on},
          {"by", actor_json(data, oom.by)}};
}

Json stream_json(std::int32_t stream) { return stream != analyzer::kNoStream ? Json(stream) : Json(); }

Json waiting_json(const TraceData& data, const analyzer::WaitingSite& site) {
  return {{"site", describe_frame(data, site.site)},
          {"stream", stream_json(site.stream)},
          {"bytes", site.bytes.value},
          {"blocks", site.blocks},
          {"median_ns", site.median.value},
          {"longest_ns", site.longest.value},
          {"largest_block", id_json(site.largest)}};
}

Json waits_json(const TraceData& data, const std::optional<analyzer::WaitsAtPeak>& waits) {
  if (!waits) return {};
  Json sites = Json::array();
  for (const analyzer::WaitingSite& site : waits->sites) sites.push_back(waiting_json(data, site));
  return {{"device", text_json(data, waits->device)},
          {"at", moment_json(waits->seq, waits->ns)},
          {"step", step_json(waits->step)},
          {"active_bytes", waits->active.value},
          {"waiting_bytes", waits->all.bytes.value},
          {"without_waits_bytes", waits->without_waits.value},
          {"blocks", waits->all.blocks},
          {"median_ns", waits->all.median.value},
          {"longest_ns", waits->all.longest.value},
          {"most_waiting_bytes", waits->most.value},
          {"run_active_bytes", waits->run_active.value},
          {"frees", waits->frees},
          {"frees_that_waited", waits->waiting},
          {"sites", std::move(sites)}};
}

Json pools_json(const TraceData& data, const std::optional<analyzer::StreamPools>& pools) {
  if (!pools) return {};
  Json streams = Json::array();
  for (const analyzer::StreamPool& pool : pools->streams) {
    streams.push_back({{"stream", stream_json(pool.stream)}, {"peak_bytes", pool.peak.value}});
  }
  Json sites = Json::array();
  for (const analyzer::PoolSite& site : pools->sites) {
    sites.push_back({{"site", describe_frame(data, site.site)},
                     {"streams", site.streams},
                     {"bytes", site.bytes.value},
                     {"largest_block", id_json(site.largest)}});
  }
  return {{"device", text_json(data, pools->device)},
          {"reserved_bytes", pools->reserved.value},
          {"active_bytes", pools->active.value},
          {"idle_bytes", pools->idle().value},
          {"by_streams_bytes", pools->by_streams.value},
          {"rest_bytes", pools->rest().value},
          {"blocks", pools->blocks},
          {"blocks_without_stream", pools->without_stream},
          {"streams", std::move(streams)},
          {"sites", std::move(sites)}};
}

Json finding_json(const TraceData& data, const Finding& finding) {
  Json items = Json::array();
  for (const FindingItem& item : finding.items) {
    Json reads = Json::array();
    for (const Mark* read : item.reads) reads.push_back(read_json(data, *read));
    items.push_back({{"key", key_json(item.key)},
                     {"storage", id_json(item.storage)},
                     {"bytes", item.bytes.value},
                     {"step", step_json(item.step)},
                     {"since", moment_json(item.since, item.since_ns)},
                     {"until", moment_json(item.until, item.until_ns)},
                     {"gather", mark_json(data, item.gather)},
                     {"release", mark_json(data, item.release)},
                     {"gone", gone_json(data, item.gone)},
                     {"operators_held", item.row != nullptr ? count_json(item.row->operators_held) : Json()},
                     {"confidence", name_of(item.confidence)},
                     {"reads", std::move(reads)}});
  }
  Json errors = Json::array();
  for (const analyzer::OomVerdict& verdict : finding.out_of_memory) {
    errors.push_back(out_of_memory_json(data, verdict));
  }
  const auto ids = [](const auto& list) {
    Json json = Json::array();
    for (const auto id : list) json.push_back(id.value);
    return json;
  };
  const analyzer::FindingIdentity& identity = finding.identity;
  return {{"number", finding.number},
          {"identity",
           {{"rule", identity.rule},
            {"born", identity.born},
            {"released", identity.released},
            {"holder", optional_json(identity.holder)}}},
          {"rule", finding.rule},
          {"classes", finding.classes},
          {"title", finding.title},
          {"device", text_json(data, finding.device)},
          {"origins", finding.origins},
          {"trial", finding.trial},
          {"keys", finding.keys()},
          {"bytes", finding.bytes.value},
          {"bytes_each", bytes_json(finding.bytes_each())},
          {"byte_seconds", finding.byte_seconds},
          {"dead_at_peak_bytes", finding.dead_at_peak.value},
          {"peak_share", finding.peak_share},
          {"alive_at_peak_bytes", finding.alive_at_peak.value},
          {"predicted_peak_bytes", bytes_json(finding.predicted_peak)},
          {"confidence", name_of(finding.confidence)},
          {"why", finding.why},
          {"fix", finding.fix},
          {"holders", holders_json(data, finding.holders)},
          {"more_alike", finding.more_alike},
          {"censuses", finding.censuses},
          {"explained", finding.explained},
          {"unexplained", finding.unexplained},
          {"reads_after_release", finding.reads},
          {"kernel_reads_after_release", finding.kernel_reads},
          {"reads_coverage", count_json(finding.coverage)},
          {"launches", launches_json(finding.launches)},
          {"evidence",
           {{"marks", ids(finding.evidence.marks)},
            {"edges", ids(finding.evidence.edges)},
            {"samples", ids(finding.evidence.samples)}}},
          {"items", std::move(items)},
          {"out_of_memory", std::move(errors)},
          {"waits", waits_json(data, finding.waits)},
          {"pools", pools_json(data, finding.pools)}};
}

Json steps_json(const std::vector<analyzer::StepPeak>& steps) {
  Json json = Json::array();
  for (const analyzer::StepPeak& step : steps) {
    json.push_back({{"step", step.step},
                    {"kept", step.predicted_peak.has_value()},
                    {"begin_bytes", step.begin.value},
                    {"peak_bytes", step.peak.value},
                    {"predicted_begin_bytes", bytes_json(step.predicted_begin)},
                    {"predicted_peak_bytes", bytes_json(step.predicted_peak)}});
  }
  return json;
}

Json survivors_json(const TraceData& data, const std::vector<StepSurvivors>& steps) {
  Json json = Json::array();
  for (const StepSurvivors& survivors : steps) {
    Json sites = Json::array();
    for (const SurvivorSite& site : survivors.sites) {
      sites.push_back({{"site", describe_frame(data, site.site)},
                       {"bytes", site.bytes.value},
                       {"storages", site.storages},
                       {"largest_storage", id_json(site.largest)}});
    }
    json.push_back({{"step", survivors.step.number},
                    {"end", moment_json(survivors.step.to, survivors.step.to_ns)},
                    {"storages", survivors.storages},
                    {"bytes", survivors.bytes.value},
                    {"storages_next", survivors.bytes_next ? Json(survivors.storages_next) : Json()},
                    {"bytes_next", bytes_json(survivors.bytes_next)},
                    {"sites", std::move(sites)}});
  }
  return json;
}

Json facts_json(const RunFacts& facts) {
  Json losses = Json::array();
  for (const LossFact& loss : facts.losses) losses.push_back({{"reason", loss.reason}, {"count", loss.count}});
  Json diagnostics = Json::array();
  for (const DiagnosticFact& fact : facts.diagnostics) {
    diagnostics.push_back({{"code", fact.code}, {"text", fact.text}, {"count", fact.count}});
  }
  Json kept = Json::array();
  for (const analyzer::KeptFact& fact : facts.kept) {
    kept.push_back({{"why", text_of(fact.why)}, {"steps", fact.steps}});
  }
  return {{"state", facts.state},
          {"command", facts.command},
          {"exit", facts.exit},
          {"torch", facts.torch},
          {"python", facts.python},
          {"detail", facts.detail},
          {"tool_version", facts.tool_version},
          {"pid", facts.pid},
          {"world_size", facts.world_size},
          {"steps", facts.steps},
          {"steps_kept", facts.steps_kept},
          {"kept", std::move(kept)},
          {"final_releases", facts.final_releases},
          {"residual_releases", facts.residual_releases},
          {"records", optional_json(facts.records)},
          {"lost", facts.lost},
          {"losses", std::move(losses)},
          {"sequence_gaps", optional_json(facts.sequence_gaps)},
          {"releases_with_bytes", facts.releases_with_bytes},
          {"censuses", facts.censuses},
          {"unexplained", facts.unexplained},
          {"diagnostics", std::move(diagnostics)},
          {"seconds", optional_json(facts.seconds)},
          {"recorder_cores", optional_json(facts.recorder_cores)}};
}

Json release_totals(const Releases& releases) {
  Json json = {{"total", releases.rows.size()}};
  std::int64_t residual = 0;
  std::int64_t metadata_only = 0;
  for (const Verdict verdict :
       {Verdict::kFreed, Verdict::kLate, Verdict::kNever, Verdict::kEarly, Verdict::kCounted, Verdict::kPersistent,
        Verdict::kNoGather, Verdict::kShared, Verdict::kRecycled, Verdict::kUntracked, Verdict::kUnknown}) {
    std::int64_t count = 0;
    for (const ReleaseRow& row : releases.rows) count += row.verdict == verdict ? 1 : 0;
    json[std::string(name_of(verdict))] = count;
  }
  for (const ReleaseRow& row : releases.rows) {
    residual += row.residual ? 1 : 0;
    metadata_only += row.metadata_only ? 1 : 0;
  }
  json["residual"] = residual;
  json["metadata_only"] = metadata_only;
  return json;
}

Json trace_head(const LoadedTrace& trace) { return {{"path", trace.path}, {"rank", trace.analysis.facts.rank}}; }

}  // namespace

Json document(std::string_view command, Json traces) {
  return {{"version", kJsonVersion}, {"command", command}, {"traces", std::move(traces)}};
}

std::string printed(const Json& document) { return document.dump(2, ' ', false, Json::error_handler_t::replace); }

Json diagnosis_json(const Diagnosis& diagnosis) {
  Json checks = Json::array();
  for (const Check& check : diagnosis.checks) {
    checks.push_back(
        {{"name", check.name}, {"ok", check.ok}, {"needed", check.needed}, {"found", check.found}, {"fix", check.fix}});
  }
  return {{"version", kJsonVersion},
          {"command", "doctor"},
          {"can_record", diagnosis.can_record()},
          {"can_report", true},
          {"checks", std::move(checks)}};
}

Json report_json(const LoadedTrace& trace) {
  const TraceData& data = *trace.data;
  const Analysis& analysis = trace.analysis;
  Json json = trace_head(trace);
  json["peak"] = peak_object(data, analysis);
  json["devices"] = Json::array();
  for (const DeviceAnalysis& device : analysis.devices) {
    json["devices"].push_back(device_json(data, device, analysis.findings));
  }
  json["releases"] = release_totals(analysis.releases);
  json["findings"] = Json::array();
  for (const Finding& finding : analysis.findings) json["findings"].push_back(finding_json(data, finding));
  json["remarks"] = Json::array();
  for (const analyzer::Remark& remark : analysis.remarks) {
    json["remarks"].push_back({{"kind", name_of(remark.kind)},
                               {"count", remark.count},
                               {"parameters", remark.parameters},
                               {"releases", remark.releases},
                               {"bytes", remark.bytes.value},
                               {"text", remark_text(remark)}});
  }
  json["steps"] = steps_json(analysis.main().steps);
  json["survivors"] = survivors_json(data, analysis.survivors);
  json["facts"] = facts_json(analysis.facts);
  return json;
}

Json releases_json(const LoadedTrace& trace) {
  const TraceData& data = *trace.data;
  Json json = trace_head(trace);
  json["releases"] = Json::array();
  for (const ReleaseRow& row : trace.analysis.releases.rows) json["releases"].push_back(release_json(data, row));
  json["cycles"] = Json::array();
  for (const Cycle& cycle : trace.analysis.releases.cycles) {
    Json countdown = Json::array();
    for (const ReleaseRow* row : cycle.releases) {
      countdown.push_back({{"mark", row->mark->id.value},
                           {"remaining", optional_json(row->mark->remaining)},
                           {"verdict", name_of(row->verdict)}});
    }
    json["cycles"].push_back({{"key", key_json(cycle.key)},
                              {"cycle", cycle.number},
                              {"gather", mark_json(data, cycle.gather)},
                              {"waits", cycle.waits.size()},
                              {"persistent", cycle.persistent},
                              {"releases", std::move(countdown)}});
  }
  return json;
}

Json peak_json(const LoadedTrace& trace) {
  Json json = trace_head(trace);
  json["peak"] = peak_object(*trace.data, trace.analysis);
  return json;
}

Json curve_json(const OpenedTrace& trace, const CurveOverview& curve) {
  Json json{{"path", trace.path}, {"rank", trace.rank}, {"stored", curve.stored}};
  json["devices"] = Json::array();
  for (const DeviceCurve& device : curve.devices) {
    json["devices"].push_back({{"device", device.device},
                               {"peak_bytes", device.whole.highest.value},
                               {"peak_at", moment_json(device.whole.highest_seq, device.whole.highest_ns)}});
  }
  json["device"] = curve.devices.empty() ? Json() : Json(curve.device.device);
  json["rows"] = Json::array();
  for (const CurveRow& row : curve.rows) {
    const CurveStretch& stretch = row.stretch;
    json["rows"].push_back({{"from", moment_json(stretch.from, stretch.from_ns)},
                            {"to", moment_json(stretch.to, stretch.to_ns)},
                            {"first_step", row.steps ? Json(row.steps->first) : Json()},
                            {"last_step", row.steps ? Json(row.steps->last) : Json()},
                            {"lowest_bytes", stretch.lowest.value},
                            {"lowest_exact", !stretch.only_peaks},
                            {"highest_bytes", stretch.highest.value},
                            {"highest_at", moment_json(stretch.highest_seq, stretch.highest_ns)},
                            {"last_bytes", stretch.last.value}});
  }
  return json;
}

Json live_json(const LoadedTrace& trace, StringId device, Sequence at) {
  const TraceData& data = *trace.data;
  const std::vector<const Block*> live = live_blocks(data, device, at);
  std::int64_t bytes = 0;
  for (const Block* block : live) bytes += block->bytes.value;
  Json json = trace_head(trace);
  json["device"] = text_json(data, device);
  json["at_seq"] = at.value;
  json["bytes"] = bytes;
  add_live_groups(data, trace.analysis.phases, live, at, json);
  json["blocks"] = Json::array();
  for (const Block* block : live) {
    json["blocks"].push_back({{"block", block->id.value},
                              {"bytes", block->bytes.value},
                              {"storage", id_json(block->storage)},
                              {"gathered", is_gathered(data, block->storage)},
                              {"owner", text_json(data, block->owner)},
                              {"born", moment_json(block->span.from_seq, block->span.from_ns)},
                              {"by", actor_json(data, block->birth)}});
  }
  return json;
}

Json storage_json(const LoadedTrace& trace, const StorageStory& story) {
  const TraceData& data = *trace.data;
  const Storage& storage = *story.storage;
  Json json = trace_head(trace);
  json["storage"] = storage.id.value;
  json["bytes_at_birth"] = storage.bytes.value;
  json["birth_is_first_sight"] = storage.first_seen;
  json["born"] = moment_json(storage.span.from_seq, storage.span.from_ns);
  json["born_by"] = actor_json(data, storage.birth);
  json["last_reference_gone"] = moment_json(storage.span.to_seq, storage.span.to_ns);
  json["last_reference_gone_by"] = storage.span.ended() ? actor_json(data, storage.end) : Json();
  json["bytes_gone"] = gone_json(data, story.gone);
  json["ended_by"] = name_of(story.ended_by);
  json["blocks"] = Json::array();
  for (const Block* block : story.blocks) {
    json["blocks"].push_back({{"block", block->id.value},
                              {"bytes", block->bytes.value},
                              {"born", moment_json(block->span.from_seq, block->span.from_ns)},
                              {"freed", moment_json(block->span.to_seq, block->span.to_ns)}});
  }
  json["tensors"] = Json::array();
  for (const Tensor* tensor : story.tensors) {
    json["tensors"].push_back({{"tensor", tensor->id.value},
                               {"object", id_json(tensor->object)},
                               {"from", moment_json(tensor->span.from_seq, tensor->span.from_ns)},
                               {"to", moment_json(tensor->span.to_seq, tensor->span.to_ns)},
                               {"by", actor_json(data, tensor->birth)}});
  }
  json["releases"] = Json::array();
  for (const ReleaseRow* row : story.releases) json["releases"].push_back(release_json(data, *row));
  json["censuses"] = Json::array();
  for (const Holders& holders : story.censuses) json["censuses"].push_back(holders_json(data, holders));
  return json;
}

}  // namespace dcmt::cli
