// One baseline under `check`: its recordings, the verdict, and the files that are written.
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
  std::vector<std::string> paths;    ///< traces; with `update`, each is a separate recording
  std::vector<std::string> command;  ///< empty: `paths`, or the baseline's command
  std::vector<std::string> require, operator_tables;
  bool update = false, new_anchors = false, strict = false, on_main = false;
  bool not_comparable_fails = true;
  bool output_aside = false;  ///< the command's output goes to standard error
  int recordings = 3;
  std::string workload;   ///< replaces the program's arguments
  std::string today;      ///< "2026-11-25"
  std::string artifacts;  ///< empty: a folder for a command, none for traces
  std::string tolerance;  ///< "1%", "64KiB"; empty: the baseline's
};

/// `options` must outlive this object. Everything except the verdict is printed on standard error.
class Gate {
 public:
  Gate(const GateOptions& options, std::string path);

  /// Compares with the baseline. Stores a verdict, or prints why there is none. Returns the exit code.
  int check();
  /// Writes a new baseline, and prints the accepted changes. Returns the exit code.
  int update();

  /// The verdict of check(); nullopt if there was none.
  [[nodiscard]] const std::optional<gate::Verdict>& verdict() const { return verdict_; }
  /// Why there is no verdict, where a report for CI must say so.
  [[nodiscard]] const std::string& why_none() const { return why_none_; }
  /// The baseline as messages print it.
  [[nodiscard]] const std::string& shown() const { return shown_; }
  /// What the user can do after check() returned this exit code.
  [[nodiscard]] CheckAdvice advice(int code) const;

 private:
  [[nodiscard]] int exit_code() const;
  /// Prints why there is no verdict, and returns the exit code.
  [[nodiscard]] int fail(const Error& error);
  [[nodiscard]] int no_verdict(const std::vector<std::string>& why) const;
  [[nodiscard]] std::string artifacts() const;
  /// The folder of a recording, numbered from 1.
  [[nodiscard]] std::string folder_of(std::size_t number) const;
  void add(std::vector<gate::Recording>& recordings, gate::Recording recording) const;
  /// Adds one recording: of the next path if each path is one, of all paths, or of the command. If a recording of a
  /// command allows no conclusion, it is repeated once.
  [[nodiscard]] int record_into(std::vector<gate::Recording>& recordings);
  /// Makes the recordings that an update needs: more if they differ.
  [[nodiscard]] int record_all(std::vector<gate::Recording>& recordings);
  /// For a check that did not pass, keeps its traces and the baseline that would accept them.
  void keep_artifacts(gate::Baseline& baseline, const std::vector<gate::Recording>& recordings, bool failed);
  void drop_traces() const;

  const GateOptions& options_;
  std::string path_, shown_;  ///< of the baseline; the second one as messages print it
  std::vector<std::string> command_;
  gate::Rules rules_;
  std::optional<gate::Verdict> verdict_;
  std::string why_none_;
};

}  // namespace dcmt::cli
