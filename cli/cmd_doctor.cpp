#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/doctor_process.h"
#include "cli/installation.h"
#include "cli/json_writer.h"
#include "cli/parser.h"
#include "cli/prepare.h"
#include "cli/text.h"

namespace dcmt::cli {
namespace {

std::string checks_text(const std::vector<Check>& checks, const Style& style) {
  std::string text;
  for (const Check& check : checks) {
    const std::string verdict = left(check.ok ? "ok" : check.needed ? "missing" : "limited", 9);
    text += (check.ok ? style.good(verdict) : style.bad(verdict)) + left(check.name, 17) + check.found + "\n";
    if (!check.ok) text += left("", 26) + "→ " + check.fix + "\n";
  }
  return text;
}

std::string diagnosis_text(const Diagnosis& diagnosis, const Style& style) {
  std::string text = checks_text(diagnosis.checks, style);
  text += diagnosis.can_record() ? "Recording and reports work here.\n"
                                 : "Reports work here. Recording does not, until the above is mended.\n";
  return text;
}

struct DoctorOptions {
  int pid = 0;
  std::string python;
  bool json = false;
  bool prepare = false;
  bool clean = false;
};

int diagnosed(const DoctorOptions& options) {
  const Diagnosis diagnosis = diagnose({library_folder().string(), prepared_folder().string()}, options.python);
  if (options.json) {
    std::cout << JsonDocument("doctor").with(diagnosis);
  } else {
    std::cout << diagnosis_text(diagnosis, Style::of_stdout());
  }
  return diagnosis.can_record() ? kExitOk : kExitCannotRecord;
}

int diagnosed_process(const DoctorOptions& options) {
  const ProcessDiagnosis diagnosis = diagnose_process(options.pid);
  if (options.json) {
    std::cout << JsonDocument("doctor process").with(diagnosis);
  } else {
    std::cout << checks_text(diagnosis.checks, Style::of_stdout())
              << (diagnosis.can_attach() ? "dc-memtrace attach " + std::to_string(options.pid) + " works.\n"
                                         : "It cannot be attached to, until the above is mended.\n");
  }
  return diagnosis.can_attach() ? kExitOk : kExitCannotRecord;
}

int said(const Expected<std::string>& line) {
  if (!line.ok()) return print_error(line.error());
  std::cout << *line << "\n";
  return kExitOk;
}

int doctor(const DoctorOptions& options) {
  if (options.prepare) return said(prepare_provider(options.python));
  if (options.clean) return said(clean_cache());
  if (options.pid != 0) return diagnosed_process(options);
  return diagnosed(options);
}

}  // namespace

void add_doctor_command(Parser app, int& exit_code) {
  Parser command = app.add_subcommand("doctor", "What works on this machine, and why not");
  auto options = std::make_shared<DoctorOptions>();
  options->python = default_python();
  const Option pid = command.add_option("pid", options->pid, "Instead of the machine: can this process be attached to?")
                         .positive()
                         .type_name("PID");
  command.add_option("--python", options->python, "The Python of your job; else $DCMT_PYTHON, else python3");
  const Option prepare =
      command.add_flag("--prepare", options->prepare,
                       "Build what recording needs for the torch of that Python, once, if it has none; needs g++");
  const Option clean = command.add_flag("--clean", options->clean, "Remove all that --prepare built").excludes(prepare);
  const Option json = command.add_flag("--json", options->json, "Machine-readable output (docs/json.md)");
  json.excludes(prepare).excludes(clean);
  pid.excludes(prepare).excludes(clean);
  command.footer(
      "Exits with 4 where recording does not work, the process cannot be attached to, or a provider cannot be "
      "built.\n\n"
      "Examples:\n"
      "  dc-memtrace doctor\n"
      "  dc-memtrace doctor 4711\n"
      "  dc-memtrace doctor --python .venv/bin/python --json\n"
      "  dc-memtrace doctor --prepare --python .venv/bin/python");
  command.callback([options, &exit_code] { exit_code = doctor(*options); });
}

}  // namespace dcmt::cli
