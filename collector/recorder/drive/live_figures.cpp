#include "collector/recorder/drive/live_figures.h"

#include <algorithm>
#include <utility>

namespace dcmt::recorder {
namespace {

constexpr std::size_t kMostPlaces = 8;
constexpr auto kPlacesEvery = std::chrono::seconds(1);
/// The next search for places begins after so many times the duration of the last one.
constexpr int kRestOfPlaces = 30;

}  // namespace

std::string LiveFigures::view(Session& session, std::string status, ScreenSize screen) {
  for (auto& [trace, process] : processes_) process.figures.has_ended = true;
  ProcessRecorder* most = nullptr;
  for (RecordedProcess* each : session.live()) {
    ProcessRecorder& recorder = *each->recorder;
    if (!recorder.has_content()) continue;
    const Totals totals = recorder.totals();
    Process& process = processes_[recorder.trace_path()];
    process.figures = {name_of(recorder), totals.steps, totals.allocated_bytes, totals.peak_bytes, false};
    process.curve.add(recorder.take_highest());
    if (most == nullptr || totals.peak_bytes > most->totals().peak_bytes) most = &recorder;
  }
  if (most != nullptr) {
    if (std::exchange(shown_, most->trace_path()) != most->trace_path()) places_due_ = {};
    find_places(*most);
    report_.poll(shown_);
  }
  LiveFacts facts;
  facts.status = std::move(status);
  for (const auto& [trace, process] : processes_) facts.processes.push_back(process.figures);
  facts.places = places_;
  facts.findings = report_.text();
  const auto shown = processes_.find(shown_);
  if (shown == processes_.end()) return live_view(facts, {}, screen);
  facts.shown = shown->second.figures.name;
  facts.peak = shown->second.figures.peak;
  return live_view(facts, shown->second.curve, screen);
}

void LiveFigures::find_places(ProcessRecorder& recorder) {
  const auto began = Clock::now();
  if (began < places_due_) return;
  if (Expected<std::vector<AliveGroup>> found = recorder.alive_now(kMostPlaces); found.ok()) {
    places_ = std::move(*found);
  }
  const auto ended = Clock::now();
  places_due_ = ended + std::max<Clock::duration>(kPlacesEvery, kRestOfPlaces * (ended - began));
}

}  // namespace dcmt::recorder
