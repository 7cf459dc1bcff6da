// What a workload's memory should be: a file for review in git.
//
// One fact is one line, and a blank line follows each, so that branches that change different facts merge. Nothing in
// it depends on line numbers or on the machine's paths.
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
  std::int64_t tolerance = 0;  ///< what recordings of one program differed by
  bool optional = false;       ///< some recordings of the program do not have it: a part of the run that may not run
  std::int64_t anchor = 0;     ///< value of the day `since`: updates leave it
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

/// A finding that is known and accepted for a while.
struct Retention {
  std::string finding;     ///< a part of its holder, title, rule or place
  std::int64_t bytes = 0;  ///< that facts may have more while it is there
  std::string reason;
  std::string until;  ///< the last day, "2027-01-31"
};

struct Baseline {
  std::vector<std::string> command;  ///< that records the workload; empty: not known
  std::vector<std::string> require;  ///< "gathers.eager > 0"
  std::vector<Retention> expect;
  std::vector<Section> sections;  ///< by name

  [[nodiscard]] const Section* section(const std::string& name) const;
};

/// Reads the text of a baseline. `path`: for messages. Fails with kBadInput, naming what is wrong.
[[nodiscard]] Expected<Baseline> parse_baseline(const std::string& path, const std::string& text);
[[nodiscard]] std::string baseline_text(const Baseline& baseline);

/// Puts what was recorded in the place of the section of its name. `recordings`: at least one, of one program and one
/// section. A fact's value is the middle one of them; its tolerance is their spread, at most a hundredth of the value.
/// Bytes that some of them do not have are optional. Anchors stay, unless `new_anchors`.
/// @param today  "2026-11-25"
void update(Baseline& baseline, const std::vector<Recording>& recordings, const std::string& today, bool new_anchors);

/// The recordings of one program as one: of each fact the middle value, with that recording's lines. At least one.
[[nodiscard]] Recording middle_of(const std::vector<Recording>& recordings);

/// The same with the value that is nearest to the baseline's: a fact fails only if it does in each recording. An
/// optional fact that one of them does not have is missing.
[[nodiscard]] Recording nearest_of(const std::vector<Recording>& recordings, const Baseline& baseline);

/// The recordings of one program differ in some fact.
[[nodiscard]] bool differ(const std::vector<Recording>& recordings);

}  // namespace dcmt::gate
