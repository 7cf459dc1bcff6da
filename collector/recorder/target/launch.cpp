#include "collector/recorder/target/launch.h"

#include <stdlib.h>

#include <charconv>
#include <functional>
#include <initializer_list>
#include <map>
#include <sstream>
#include <string_view>

#include "trace/base/read_file.h"

namespace dcmt::recorder {
namespace {

/// The value of a variable; empty if it is not set.
using Variables = std::function<std::string(const char* name)>;

std::int32_t number(std::string_view text) {
  std::int32_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : -1;
}

struct Launcher {
  const char* rank;
  const char* size;
  std::initializer_list<const char*> names;  ///< parts of the launch's name; the first one must be set
  const char* restart;
  std::int32_t fewest = -1;  ///< ranks of such a launch
};

/// From the innermost to the outermost.
const Launcher kLaunchers[] = {
    {"RANK", "WORLD_SIZE", {"TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT"}, "TORCHELASTIC_RESTART_COUNT"},
    // deepspeed's launcher, Kubernetes, and a shell in which a person set them. Of one process they say nothing: many
    // programs set them to have a process group of their own.
    {"RANK", "WORLD_SIZE", {"MASTER_PORT", "MASTER_ADDR"}, "", 2},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {"PMIX_NAMESPACE"}, ""},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", {"OMPI_MCA_ess_base_jobid"}, ""},
    {"PMI_RANK", "PMI_SIZE", {"PMI_SIZE"}, ""},
    {"PMIX_RANK", "SLURM_NTASKS", {"PMIX_NAMESPACE"}, ""},
    {"SLURM_PROCID", "SLURM_NTASKS", {"SLURM_STEP_ID", "SLURM_JOB_ID"}, "SLURM_RESTART_COUNT"},
};

Launch launch_by(const Variables& variable) {
  Launch launch;
  if (const std::string job = variable("SLURM_JOB_ID"); !job.empty()) {
    launch.job = "SLURM_JOB_ID " + job;
    launch.restart = variable("SLURM_RESTART_COUNT");
  }
  for (const Launcher& launcher : kLaunchers) {
    const std::int32_t rank = number(variable(launcher.rank));
    const std::int32_t world_size = number(variable(launcher.size));
    if (rank < 0 || variable(*launcher.names.begin()).empty() || world_size < launcher.fewest) continue;
    launch.rank = rank;
    launch.world_size = world_size;
    launch.name = launcher.rank;
    for (const char* part : launcher.names) launch.name += " " + variable(part);
    launch.member = std::to_string(launch.rank);
    if (const std::string restart = variable(launcher.restart); !restart.empty()) launch.member += "." + restart;
    return launch;
  }
  return launch;
}

}  // namespace

Launch launch_of_environment() {
  return launch_by([](const char* name) {
    const char* value = getenv(name);
    return std::string(value != nullptr ? value : "");
  });
}

Launch launch_of_process(pid_t pid) {
  std::map<std::string, std::string> variables;
  std::istringstream text(read_file("/proc/" + std::to_string(pid) + "/environ").value_or(""));
  for (std::string each; std::getline(text, each, '\0');) {
    if (const std::size_t sign = each.find('='); sign != std::string::npos) {
      variables.emplace(each.substr(0, sign), each.substr(sign + 1));
    }
  }
  return launch_by([&](const char* name) {
    const auto found = variables.find(name);
    return found != variables.end() ? found->second : std::string();
  });
}

}  // namespace dcmt::recorder
