// The expected memory use of a workload: a file that is reviewed in git.
//
// Each fact is one line, followed by a blank line, so that branches that change different facts merge without a
// conflict. Nothing in the file depends on line numbers or on paths of the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/gate/fact.h"
#include "trace/base/status.h"

namespace dcmt::gate {

struct BaselineFact {
  std::string name;
  Unit unit = Unit::kBytes;
  std::int64_t value = 0;
  std::int64_t tolerance = 0;  ///< spread between recordings of the same program
  bool optional = false;       ///< some recordings lack this fact: it is of a part of the run that may not run
  std::int64_t anchor = 0;     ///< the value on the day `since`; updates keep it
  std::string since;           ///< "2026-11-25"
  analyzer::Composition composition;
};

/// Facts of one kind of device and one minor version of torch.
struct Section {
  std::string name;  ///< "cpu, torch 2.11"
  std::vector<BaselineFact> facts;
  std::int64_t operators = 0;
  std::string order;
  std::string arguments;
  std::int64_t ranks = 1, steps = 0;
  std::vector<Bytes> sizes;

  [[nodiscard]] const BaselineFact* fact(const std::string& fact_name) const;
};

/// A finding that is accepted for a while.
struct Retention {
  std::string finding;     ///< a part of its holder, title, rule or place
  std::int64_t bytes = 0;  ///< how much more facts may have while the finding exists
  std::string reason;
  std::string until;  ///< the last day, "2027-01-31"
};

struct Baseline {
  std::vector<std::string> command;  ///< the command that records the workload; empty: unknown
  std::vector<std::string> require;  ///< "gathers.eager > 0"
  std::vector<Retention> expect;
  std::vector<Section> sections;  ///< ordered by name

  [[nodiscard]] const Section* section(const std::string& name) const;
};

/// Reads the text of a baseline. `path` is used in messages. Fails with kBadInput and says what is wrong.
[[nodiscard]] Expected<Baseline> parse_baseline(const std::string& path, const std::string& text);
[[nodiscard]] std::string baseline_text(const Baseline& baseline);

/// Replaces the section of the recordings' name. `recordings`: at least one; all of one program and one section. A
/// fact's value is the middle one of the recordings; its tolerance is their spread, for peaks at most a hundredth of
/// the value. Bytes that some recordings lack become optional. Anchors are kept, unless `new_anchors`.
/// @param today  "2026-11-25"
void update(Baseline& baseline, const std::vector<Recording>& recordings, const std::string& today, bool new_anchors);

/// Merges recordings of one program: each fact gets the middle value and the lines of that recording. At least one.
[[nodiscard]] Recording middle_of(const std::vector<Recording>& recordings);

/// Merges recordings like middle_of(), but each fact gets the value that is nearest to the baseline's. So a fact fails
/// only if it fails in every recording. An optional fact that one recording lacks is missing in the result.
[[nodiscard]] Recording nearest_of(const std::vector<Recording>& recordings, const Baseline& baseline);

/// True if the recordings of one program differ in some fact.
[[nodiscard]] bool differ(const std::vector<Recording>& recordings);

}  // namespace dcmt::gate
