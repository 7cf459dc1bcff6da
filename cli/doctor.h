// Checks what works on this machine, and what prevents it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dcmt::cli {

struct Check {
  std::string name;
  bool ok = false;
  bool needed = true;  ///< recording needs it; false: it only limits something
  std::string found;   ///< the state that was found
  std::string fix;     ///< what the user can do; empty if ok

  static constexpr std::string_view kShape = "doctor_check";
  static void describe(auto&& field) {
    field("name", &Check::name, "");
    field("ok", &Check::ok, "");
    field("needed", &Check::needed, "for recording");
    field("found", &Check::found, "");
    field("fix", &Check::fix, "empty if ok");
  }
};

struct Diagnosis {
  std::vector<Check> checks;
  [[nodiscard]] bool can_record() const;

  static constexpr std::string_view kShape = "doctor";
  static void describe(auto&& field) {
    field("can_record", &Diagnosis::can_record, "every needed check is ok");
    field(
        "can_report", [](const Diagnosis& /*diagnosis*/) { return true; }, "");
    field("checks", &Diagnosis::checks, "");
  }
};

/// Facts that a Python reports about itself.
struct PythonFacts {
  std::string executable, version, implementation;
  std::optional<std::string> torch;  ///< version; nullopt: not installed
  std::string torch_folder;          ///< of the package; empty: not installed
  std::optional<std::string> cupti;  ///< path of its library; nullopt: not beside torch
};

/// Runs `python` (a path or a name on PATH) to get its facts; nullopt if it cannot be run.
[[nodiscard]] std::optional<PythonFacts> ask_python(const std::string& python);

/// The Python used if none is named: the environment variable DCMT_PYTHON, else python3.
[[nodiscard]] std::string default_python();

/// The locations of the parts that `run` needs.
struct InstalledParts {
  std::string libraries;  ///< folder of the agent and its providers
  std::string prepared;   ///< folder of the providers that were built on this machine; empty: none
};

/// Inspects the machine, `python` and the parts.
[[nodiscard]] Diagnosis diagnose(const InstalledParts& parts, const std::string& python);

}  // namespace dcmt::cli
