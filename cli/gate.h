// One baseline under `check`: its recordings, the verdict, and what is written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyzer/gate/baseline.h"
#include "analyzer/gate/fact.h"
#include "analyzer/gate/judge.h"
#include "cli/check_text.h"

namespace dcmt::cli {

struct GateOptions {
  std::vector<std::string> paths;    ///< traces; with `update`, each is a recording of its own
  std::vector<std::string> command;  ///< empty: `paths`, or the baseline's own
  std::vector<std::string> require, operator_tables;
  bool update = false, new_anchors = false, strict = false, on_main = false;
  bool not_comparable_fails = true;
  bool output_aside = false;  ///< what the command prints goes to standard error
  int recordings = 3;
  std::string workload;   ///< in place of the program's arguments
  std::string today;      ///< "2026-11-25"
  std::string artifacts;  ///< empty: of a command, its own folder; of traces, none
};

/// The options must outlive it. What is no verdict is printed on standard error.
class Gate {
 public:
  Gate(const GateOptions& options, std::string path);

  /// Compares with the baseline. Leaves a verdict, or prints why there is none. Returns the exit code.
  int check();
  /// Writes the baseline anew, and prints what that accepts. Returns the exit code.
  int update();

  /// Of check(); nothing if it came to none.
  [[nodiscard]] const std::optional<gate::Verdict>& verdict() const { return verdict_; }
  /// What to do after an exit code of check().
  [[nodiscard]] CheckAdvice advice(int code) const;

 private:
  [[nodiscard]] int exit_code() const;
  [[nodiscard]] int no_verdict(const std::vector<std::string>& why) const;
  [[nodiscard]] std::string artifacts() const;
  /// Of a recording, from 1.
  [[nodiscard]] std::string folder_of(std::size_t number) const;
  void add(std::vector<gate::Recording>& recordings, gate::Recording recording) const;
  /// Adds one recording: of the next path where each is one, of all paths, or of the command. A recording of a command
  /// that allows no conclusion is made again, once.
  [[nodiscard]] int record_into(std::vector<gate::Recording>& recordings);
  /// As many recordings as an update needs: more where they differ.
  [[nodiscard]] int record_all(std::vector<gate::Recording>& recordings);
  /// Of a check that did not pass: its traces, and the baseline that would accept them.
  void keep_artifacts(gate::Baseline& baseline, const std::vector<gate::Recording>& recordings, bool failed);
  void drop_traces() const;

  const GateOptions& options_;
  std::string path_, shown_;  ///< of the baseline; as it is printed
  std::vector<std::string> command_;
  gate::Rules rules_;
  std::optional<gate::Verdict> verdict_;
};

}  // namespace dcmt::cli
