// Everything that a report may say of one trace.
#pragma once

#include <string>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/model/devices.h"
#include "analyzer/model/findings.h"
#include "analyzer/model/job_view.h"
#include "analyzer/model/reference_story.h"
#include "analyzer/model/releases.h"
#include "analyzer/model/survivors.h"

namespace dcmt::model {

/// The numbers in the first sentences of a report. They count what is about the training.
struct Summary {
  std::int64_t errors = 0,
               errors_in_vain = 0;  ///< out of memory; of them, those that freeing the dead would have saved
  std::int64_t residual = 0;        ///< releases that left bytes
  std::int64_t late = 0;            ///< releases whose bytes another thread freed late, and that raises most peaks
  std::int64_t read_early = 0, never_released = 0;  ///< numbers of parameters
  Bytes growth_per_step;                            ///< sum over everything that grows; shared growth is counted once
  std::int64_t trials = 0;                          ///< findings that are not about the training
  bool only_trials = false;
  std::vector<std::string> trial_origins;  ///< the origins of these findings
};

/// What must be equal for two ranks to be called equal: the peaks and their parts, the releases and the findings, but
/// not addresses and times. Does not point into a trace.
struct ComparableReport {
  struct OfFinding {
    std::string rule;
    std::vector<std::string> classes;
    std::size_t items = 0;
    Bytes bytes;
    std::vector<ParametersOfGraph> parameters;
    std::int64_t unexplained = 0, reads = 0;
    friend bool operator==(const OfFinding&, const OfFinding&) = default;
  };
  struct OfDevice {
    Bytes peak, predicted, dead;
    friend bool operator==(const OfDevice&, const OfDevice&) = default;
  };

  std::vector<OfDevice> devices;
  std::int64_t steps = 0, releases = 0, lost = 0;
  std::vector<OfFinding> findings;
  friend bool operator==(const ComparableReport&, const ComparableReport&) = default;
};

struct Report {
  std::string path;
  std::int64_t rank = -1;
  LivePeak peak;
  std::vector<DevicePeak> devices;
  Totals releases;
  std::vector<ReportedFinding> findings;
  std::vector<analyzer::Remark> remarks;
  std::vector<analyzer::StepPeak> steps;
  Range<Survivors> survivors;
  std::optional<WatchedStorages> watched;
  std::optional<JobMoment> job;
  analyzer::RunFacts facts;

  Summary summary;
  FinalReleases final_releases;
  std::optional<Outliving> outliving;
  std::int64_t not_followed = 0;  ///< releases that were not tracked: no space for the storage, or no gather observed

  static constexpr std::string_view kShape = "report";
  static void describe(auto&& field) {
    field("path", &Report::path, "of the trace");
    field("rank", &Report::rank, "-1: none");
    field("peak", &Report::peak, "of the first device");
    field("devices", &Report::devices, "GPUs before the CPU, of several the highest peak first");
    field("releases", &Report::releases, "");
    field("findings", &Report::findings,
          "out of memory first, then by device, most bytes dead at the peak of the device, most bytes times time");
    field("remarks", &Report::remarks, "what is by design, or could not be judged");
    field("steps", &Report::steps, "of the first device, one for every step that ended");
    field("survivors", &Report::survivors, "one for every step that ended");
    field("watched", &Report::watched, "null: nothing was watched (`run --watch`)");
    field("job", &Report::job,
          "all processes of the job when they had most; null: it has one process, or another trace has it");
    field("facts", &Report::facts, "how much of the run is in the trace");
  }

  [[nodiscard]] ComparableReport comparable() const;
  /// True if there is a finding about the training.
  [[nodiscard]] bool found() const { return static_cast<std::int64_t>(findings.size()) > summary.trials; }
};

/// `path`: as messages print it.
[[nodiscard]] Report report_of(const std::string& path, const analyzer::Analysis& analysis);

}  // namespace dcmt::model
