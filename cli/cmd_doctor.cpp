#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>

#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/json_writer.h"
#include "cli/text.h"

namespace dcmt::cli {
namespace {

std::string diagnosis_text(const Diagnosis& diagnosis, const Style& style) {
  std::string text;
  for (const Check& check : diagnosis.checks) {
    const std::string verdict = left(check.ok ? "ok" : check.needed ? "missing" : "limited", 9);
    text += (check.ok ? style.good(verdict) : style.bad(verdict)) + left(check.name, 17) + check.found + "\n";
    if (!check.ok) text += left("", 26) + "→ " + check.fix + "\n";
  }
  text += diagnosis.can_record() ? "Recording and reports work here.\n"
                                 : "Reports work here. Recording does not, until the above is mended.\n";
  return text;
}

int doctor(bool json) {
  const Diagnosis diagnosis = diagnose(libraries_folder());
  if (json) {
    std::cout << JsonDocument("doctor").with(diagnosis);
  } else {
    std::cout << diagnosis_text(diagnosis, Style::of_stdout());
  }
  return diagnosis.can_record() ? kExitOk : kExitCannotRecord;
}

}  // namespace

void add_doctor_command(CLI::App& app, int& exit_code) {
  CLI::App* command = app.add_subcommand("doctor", "What works on this machine, and why not");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Machine-readable output (docs/json.md)");
  command->footer(
      "Exits with 4 where recording does not work.\n\n"
      "Examples:\n"
      "  dc-memtrace doctor\n"
      "  DCMT_PYTHON=.venv/bin/python dc-memtrace doctor --json");
  command->callback([json, &exit_code] { exit_code = doctor(*json); });
}

}  // namespace dcmt::cli
