#include "cli/watch_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <tuple>

#include "analyzer/storages/parameters.h"
#include "analyzer/storages/stacks.h"
#include "cli/inputs.h"
#include "trace/base/shell_words.h"

namespace dcmt::cli {
namespace {

using recorder::WatchedPlace;

/// A damaged trace must not make the agent's list long.
constexpr std::size_t kMostPlaces = 64;

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

std::optional<WatchedPlace> line_in(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto line = number_in(text.substr(colon + 1));
  if (!line || *line <= 0) return std::nullopt;
  std::string file(text.substr(0, colon));
  if (file.starts_with("./")) file.erase(0, 2);
  return WatchedPlace{file, *line};
}

class Places {
 public:
  explicit Places(const analyzer::TraceData& data) : data_(data) {}

  void add(analyzer::Key key) { add(WatchedPlace{"", 0, key.graph, key.key}); }
  void add(StackId stack) {
    const analyzer::Frame* frame = data_.frames.find(analyzer::site_of(data_, stack));
    if (frame != nullptr && frame->line > 0) add(WatchedPlace{std::string(data_.text(frame->file)), frame->line});
  }
  void add(StorageId storage) {
    if (const analyzer::Storage* found = data_.storages.find(storage); found != nullptr) add(found->birth.stack);
  }
  [[nodiscard]] std::vector<WatchedPlace> all() const { return places_; }

 private:
  void add(WatchedPlace place) {
    const auto fields = [](const WatchedPlace& each) { return std::tie(each.file, each.line, each.graph, each.key); };
    const bool there = std::ranges::any_of(places_, [&](const auto& each) { return fields(each) == fields(place); });
    if (!there && places_.size() < kMostPlaces) places_.push_back(std::move(place));
  }

  const analyzer::TraceData& data_;
  std::vector<WatchedPlace> places_;
};

void add_finding(const analyzer::Finding& finding, Places& places) {
  for (const analyzer::FindingItem& item : finding.items) {
    finding.rule == "residual" ? places.add(item.key) : places.add(item.storage);
  }
  if (!finding.growth) return;
  for (const analyzer::GrowingSite& site : finding.growth->sites) places.add(site.stack);
}

/// "main.losses" for "main: losses", as reports write it.
std::string shown(std::string_view path) {
  std::string text(path);
  if (const std::size_t colon = text.find(": "); colon != std::string::npos) text.replace(colon, 2, ".");
  return text;
}

/// True for the variable itself, and for what is in it.
bool is_within(std::string_view path, std::string_view name) {
  if (!path.starts_with(name)) return false;
  return path.size() == name.size() || path[name.size()] == '[' || path[name.size()] == '.';
}

void add_named(const LoadedTrace& trace, std::string_view name, Places& places) {
  const analyzer::TraceData& data = *trace.data;
  for (const analyzer::ReleaseRow& row : trace.analysis.releases.rows) {
    const analyzer::Parameter* parameter = analyzer::find_parameter(data, row.key());
    const bool by_name = parameter != nullptr && data.text(parameter->name) == name;
    if (by_name || analyzer::describe_key(data, row.key()) == name) places.add(row.key());
  }
  const std::string wanted = shown(name);
  for (const analyzer::Storage& storage : data.storages) {
    for (const analyzer::OwnerPath& path : data.owners.paths_to(storage.id)) {
      if (is_within(shown(data.text(path.path)), wanted)) places.add(storage.id);
    }
  }
}

Expected<std::vector<WatchedPlace>> places_of(const std::string& text) {
  const std::size_t mark = text.rfind('#');
  if (mark == std::string::npos) {
    if (auto line = line_in(text)) return std::vector{*line};
    return Error{ErrorCode::kUsage, fmt::format("--watch: '{}' is neither FILE:LINE nor of an earlier trace, as "
                                                "TRACE#N (a finding) or TRACE#NAME (a parameter, a variable).",
                                                text)};
  }
  const std::string path = text.substr(0, mark);
  const std::string name = text.substr(mark + 1);
  DCMT_ASSIGN_OR_RETURN(const std::vector<LoadedTrace> traces, load_traces({path}, std::nullopt));
  const LoadedTrace& trace = traces.front();
  Places places(*trace.data);
  if (const auto number = number_in(name)) {
    for (const analyzer::Finding& finding : trace.analysis.findings) {
      if (finding.number == *number) add_finding(finding, places);
    }
  } else {
    add_named(trace, name, places);
  }
  if (places.all().empty()) {
    return Error{ErrorCode::kUsage,
                 fmt::format("--watch: {} has no storages of '{}'. Its findings: dc-memtrace report {}", trace.path,
                             name, shell_word(trace.path))};
  }
  return places.all();
}

}  // namespace

void add_watch_option(Parser command, std::vector<std::string>& texts) {
  command
      .add_option("--watch", texts,
                  "Record who takes and who drops each reference to a storage, one storage at a time: those made at "
                  "FILE:LINE, those of finding N of an earlier trace (last#1), or those of a parameter or a variable "
                  "there (last#main.losses). Sets --detail full")
      .one_at_a_time()
      .type_name("WHAT");
}

Status set_watch(const std::vector<std::string>& texts, recorder::RecordingOptions& options) {
  for (const std::string& text : texts) {
    DCMT_ASSIGN_OR_RETURN(const std::vector<WatchedPlace> places, places_of(text));
    options.watch.insert(options.watch.end(), places.begin(), places.end());
  }
  // Each tensor of the storage is recorded, and storages of any size.
  if (!options.watch.empty()) options.detail = std::max(options.detail, Detail::kFull);
  return {};
}

}  // namespace dcmt::cli
