// What works on this machine, and why not.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dcmt::cli {

struct Check {
  std::string name;
  bool ok = false;
  bool needed = true;  ///< recording needs it; else it only limits something
  std::string found;   ///< what is there
  std::string fix;     ///< what to do; empty if ok

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

/// What a Python says of itself.
struct PythonFacts {
  std::string executable, version, implementation;
  std::optional<std::string> torch;  ///< version; nullopt: there is none
  std::string torch_folder;          ///< of the package; empty: there is none
  std::optional<std::string> cupti;  ///< where its library is; nullopt: not beside torch
};

/// Runs `python` (a path or a name on PATH) and asks it; nullopt if it cannot be run.
[[nodiscard]] std::optional<PythonFacts> ask_python(const std::string& python);

/// The Python that is meant where none is named: that of the environment variable DCMT_PYTHON, else python3.
[[nodiscard]] std::string default_python();

/// Where what `run` needs is.
struct InstalledParts {
  std::string libraries;  ///< folder of the agent and its providers
  std::string prepared;   ///< folder of the providers that were made on this machine; empty: none
};

/// Looks at the machine, at `python` and at the parts.
[[nodiscard]] Diagnosis diagnose(const InstalledParts& parts, const std::string& python);

}  // namespace dcmt::cli
