// What a run under `prove` has shown: whether anything accessed the storages that releases had left.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/model/analysis.h"
#include "analyzer/model/values.h"

namespace dcmt::model {

/// The first access to a fenced storage.
struct FenceTouch : Mark {
  std::optional<std::string_view> backward;  ///< the backward node in which it happened
  bool writes = false;
  std::int64_t offset = 0;

  static constexpr std::string_view kShape = "fence_touch";
  static void describe(auto&& field) {
    field("mark", &FenceTouch::mark, "");
    field("name", &FenceTouch::name, "of the innermost operator; null: no operator ran");
    field("backward", &FenceTouch::backward, "the node of autograd that ran, or \"the backward\"; null: none");
    field("at", &FenceTouch::at, "");
    field("by", &FenceTouch::by, "");
    field("writes", &FenceTouch::writes, "it wrote; what it wrote or read after that is not recorded");
    field("offset", &FenceTouch::offset, "in bytes from the begin of the storage");
  }
};

struct ReleaseProof {
  std::string_view verdict;                ///< static text
  std::int64_t releases = 0, touched = 0;  ///< that left a storage; of them those whose storage was touched
  std::int64_t steps = 0;
  Bytes bytes, fenced_bytes;
  std::vector<std::string> why_not;
  std::vector<FenceTouch> touches;

  static constexpr std::string_view kShape = "proof";
  static void describe(auto&& field) {
    field("verdict", &ReleaseProof::verdict, "\"proved\", \"touched\", \"not_proved\"");
    field("releases", &ReleaseProof::releases, "that left a storage, which was to be fenced, overwritten or freed");
    field("touched", &ReleaseProof::touched, "of them, those whose storage was touched");
    field("steps", &ReleaseProof::steps, "in which they were");
    field("bytes", &ReleaseProof::bytes, "of their storages");
    field("fenced_bytes", &ReleaseProof::fenced_bytes,
          "of them, those that nothing could read or write unseen, or that were overwritten");
    field("why_not", &ReleaseProof::why_not, "what keeps a proof from being complete, one line each");
    field("touches", &ReleaseProof::touches, "the first of each release");
  }
};

/// A gradient or a number that two runs have not computed alike.
struct DifferentResult : Mark {
  std::int64_t number = 0;

  static constexpr std::string_view kShape = "different_result";
  static void describe(auto&& field) {
    field("mark", &DifferentResult::mark, "");
    field("name", &DifferentResult::name, "of the node that adds a gradient, or of the operator that reads a number");
    field("at", &DifferentResult::at, "");
    field("by", &DifferentResult::by, "");
    field("number", &DifferentResult::number, "among the results of the run, from 1");
  }
};

/// What two runs have computed.
struct ComparedResults {
  std::int64_t gradients = 0, numbers = 0;
  std::optional<DifferentResult> first;

  static constexpr std::string_view kShape = "compared_results";
  static void describe(auto&& field) {
    field("gradients", &ComparedResults::gradients, "that parameters got, equal to the bit in both runs");
    field("numbers", &ComparedResults::numbers, "that the program read out of tensors, likewise");
    field("first", &ComparedResults::first, "the first result that differs; null: none does");
  }
};

/// What the peak is without what the releases left.
struct FreedPeak {
  Bytes before;
  std::optional<Bytes> predicted;
  Bytes measured;

  static constexpr std::string_view kShape = "freed_peak";
  static void describe(auto&& field) {
    field("before_bytes", &FreedPeak::before, "the peak of the trace that has the finding");
    field("predicted_bytes", &FreedPeak::predicted, "its peak without this finding alone");
    field("measured_bytes", &FreedPeak::measured, "the peak of the run in which it was freed");
  }
};

/// What `prove` has shown in one process of the program.
struct ProvedProcess {
  std::string trace;
  ReleaseProof proof;
  std::optional<ComparedResults> results;
  std::optional<FreedPeak> peak;

  static constexpr std::string_view kShape = "proved_process";
  static void describe(auto&& field) {
    field("trace", &ProvedProcess::trace, "its file");
    field("proof", &ProvedProcess::proof, "");
    field("results", &ProvedProcess::results, "by \"poison\" or \"free\": compared with a run that was left as it is");
    field("peak", &ProvedProcess::peak, "by \"free\"");
  }
};

struct ProvedRun {
  std::string verdict, by, folder;
  std::int64_t exit = 0;
  std::vector<ProvedProcess> processes;

  static constexpr std::string_view kShape = "prove";
  static void describe(auto&& field) {
    field("verdict", &ProvedRun::verdict, "\"proved\", \"unchanged\", \"touched\", \"not_proved\"");
    field("by", &ProvedRun::by, "\"fence\", \"poison\", \"free\"");
    field("folder", &ProvedRun::folder, "with the traces");
    field("exit", &ProvedRun::exit, "of the command: its exit code, or 128 and the number of its signal");
    field("processes", &ProvedRun::processes, "those that gathered the parameters");
  }
};

/// Of all releases that were to be fenced or overwritten; nullopt if nothing was.
[[nodiscard]] std::optional<ReleaseProof> proof_of(const analyzer::Analysis& analysis);
/// Of the releases of a finding.
[[nodiscard]] std::optional<ReleaseProof> proof_of(const analyzer::Analysis& analysis,
                                                   const analyzer::Finding& finding);

/// Compares what two runs of one program have computed.
[[nodiscard]] ComparedResults compare_results(const analyzer::Analysis& one, const analyzer::Analysis& other);

}  // namespace dcmt::model
