#include "cli/doctor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "cli/child_output.h"
#include "cli/text.h"
#include "collector/recorder/target/try_watchpoints.h"
#include "trace/arch/arch.h"
#include "trace/base/build_id.h"

namespace dcmt::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSpoolBytes = 64LL << 20;  // shared memory that `run` uses per process
constexpr int kOldestPython = 11;
constexpr int kNewestPython = 15;

// torch is not imported: that would need seconds, and only the version is needed.
constexpr char kQuestion[] =
    "import glob,json,os,platform,sys\n"
    "from importlib import metadata,util\n"
    "torch=None\n"
    "spec=util.find_spec('torch')\n"
    "if spec:\n"
    "  try: torch=metadata.version('torch')\n"
    "  except metadata.PackageNotFoundError: torch='unknown'\n"
    "places=[p+'/nvidia/*/lib' for p in "
    "sys.path]+[os.environ.get('CUDA_HOME','/usr/local/cuda')+'/extras/CUPTI/lib64']\n"
    "cupti=next((f for p in places for f in sorted(glob.glob(p+'/libcupti.so*'))),None)\n"
    "print(json.dumps({'cupti':cupti,'executable':sys.executable,'version':platform.python_version(),"
    "'implementation':platform.python_implementation(),'torch':torch,"
    "'torch_folder':os.path.dirname(spec.origin) if spec and spec.origin else ''}))\n";

int minor_of(std::string_view version) {
  int minor = -1;
  if (version.starts_with("3.")) std::from_chars(version.data() + 2, version.data() + version.size(), minor);
  return minor;
}

Check check_system() {
  Check check{"system", false, true, "", ""};
  utsname name{};
  uname(&name);
  check.found = fmt::format("{} {}", name.sysname, name.machine);
  check.ok = std::string(name.sysname) == "Linux" && std::string(name.machine) == arch::kMachine;
  if (!check.ok) check.fix = fmt::format("this dc-memtrace is for {} Linux; reports work anywhere", arch::kName);
  return check;
}

void check_python(const std::string& program, const std::optional<PythonFacts>& python, std::vector<Check>& checks) {
  Check version{"python", false, true, "", ""};
  Check torch{"torch", false, true, "", ""};
  if (!python) {
    version.found = program + " cannot be run";
    version.fix = "name a Python with --python";
    torch.found = "not searched for";
    torch.fix = version.fix;
  } else {
    const int minor = minor_of(python->version);
    version.found = fmt::format("{} {} ({})", python->implementation, python->version, python->executable);
    version.ok = python->implementation == "CPython" && minor >= kOldestPython && minor <= kNewestPython;
    if (!version.ok) version.fix = fmt::format("use CPython 3.{} to 3.{}", kOldestPython, kNewestPython);
    torch.ok = python->torch.has_value();
    torch.found = torch.ok ? *python->torch : "none in this Python";
    if (!torch.ok) torch.fix = "name a Python that has torch with --python";
  }
  Check cupti{"cupti", python && python->cupti, false, "", ""};
  cupti.found = cupti.ok ? *python->cupti : "not found beside torch";
  if (!cupti.ok) cupti.fix = "install torch for CUDA: without CUPTI kernels are not seen, only operators that read";
  checks.push_back(std::move(version));
  checks.push_back(std::move(torch));
  checks.push_back(std::move(cupti));
}

/// The driver lists its devices. No CUDA library is loaded for this.
Check check_gpu() {
  std::error_code none;
  const fs::directory_iterator devices("/proc/driver/nvidia/gpus", none);
  const std::int64_t count = none ? 0 : std::distance(fs::begin(devices), fs::end(devices));
  Check check{"gpu", count > 0, false, "none that NVIDIA's driver lists", ""};
  if (check.ok) check.found = counted(count, "NVIDIA GPU");
  if (!check.ok) check.fix = "what happens on the CPU is recorded in full; facts of a GPU need one";
  return check;
}

/// "2.10", "2.11": the ends of those folder names that start with `prefix`, in order.
std::vector<std::string> versions_in(const fs::path& folder, std::string_view prefix) {
  std::vector<std::string> versions;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && !fs::is_empty(entry.path(), error)) versions.push_back(name.substr(prefix.size()));
  }
  std::sort(versions.begin(), versions.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a.size(), a) < std::pair(b.size(), b);  // 2.9 comes before 2.10
  });
  return versions;
}

std::string minor_version(const std::string& version) {
  return version.substr(0, version.find('.', version.find('.') + 1));
}

/// Checks that there is a file for the wanted version; if there is no wanted version, for any.
void check_provider(Check& check, const fs::path& libraries, const std::string& of,
                    const std::optional<std::string>& wanted) {
  const std::vector<std::string> there = versions_in(libraries, of + "-");
  const bool fits =
      wanted ? std::find(there.begin(), there.end(), minor_version(*wanted)) != there.end() : !there.empty();
  check.ok = fits;
  check.found = there.empty() ? "none is installed" : "installed for " + joined(there, ", ");
  if (!fits && wanted) check.found += "; none for " + minor_version(*wanted);
}

void check_libraries(const InstalledParts& parts, const std::optional<PythonFacts>& python,
                     std::vector<Check>& checks) {
  const fs::path libraries = parts.libraries;
  std::error_code ignored;
  Check agent{"agent", fs::exists(libraries / "libdcmt_agent.so", ignored), true, parts.libraries, ""};
  if (!agent.ok) {
    agent.found += " has none";
    agent.fix = "install dc-memtrace again, or build with -DDCMT_COLLECTOR=ON";
  }
  Check torch{"torch provider", false, true, "", ""};
  check_provider(torch, libraries, "torch", python ? python->torch : std::nullopt);
  if (python && python->torch && !parts.prepared.empty()) {
    const std::string id = build_id_of((fs::path(python->torch_folder) / "lib" / "libtorch_cpu.so").string());
    if (!id.empty() && fs::exists(fs::path(parts.prepared) / id / "libdcmt_torch.so", ignored)) {
      torch.ok = true;
      torch.found = "prepared for exactly this torch";
    }
  }
  if (!torch.ok) torch.fix = "dc-memtrace doctor --prepare --python " + (python ? python->executable : "PYTHON");
  Check stacks{"python provider", false, false, "", ""};
  check_provider(stacks, libraries, "python", python ? std::optional(python->version) : std::nullopt);
  if (!stacks.ok) stacks.fix = "use another CPython (without it: no Python stacks and no variable names)";
  Check cuda{"cuda provider", fs::exists(libraries / "libdcmt_cuda.so", ignored), false, "installed", ""};
  if (!cuda.ok) {
    cuda.found = "not installed";
    cuda.fix = "build where the headers of CUPTI are (without it: no kernels)";
  }
  checks.insert(checks.end(), {std::move(agent), std::move(torch), std::move(stacks), std::move(cuda)});
}

/// The build determines this. No CUDA library is loaded for it.
Check check_cuda_facts() {
  Check check{"cuda facts", DCMT_CUDA_FACTS != 0, false, "blocks, streams, reserved bytes", ""};
  if (!check.ok) {
    check.found = "blocks only";
    check.fix =
        "build where CUDA's headers are (CUDA_HOME, or wheels of torch for CUDA with Triton's): without them no "
        "streams";
  }
  return check;
}

Check check_shared_memory() {
  // If it is small or missing, spools lie in the output folder, and a page that is written to the disk slows a hook.
  Check check{"/dev/shm", false, false, "", ""};
  struct statvfs memory {};
  if (statvfs("/dev/shm", &memory) != 0) {
    check.found = "not there";
    check.fix = "mount a tmpfs at /dev/shm: without it spools lie in the output folder, which is slower";
    return check;
  }
  const auto block = static_cast<std::int64_t>(memory.f_frsize);
  const auto free = static_cast<std::int64_t>(memory.f_bavail) * block;
  check.ok = free >= kSpoolBytes && access("/dev/shm", W_OK) == 0;
  check.found =
      fmt::format("{} free of {}; each traced process takes {}", rounded_bytes(free),
                  rounded_bytes(static_cast<std::int64_t>(memory.f_blocks) * block), rounded_bytes(kSpoolBytes));
  if (!check.ok)
    check.fix =
        "make it larger (a container: --shm-size) and writable: spools lie in the output folder, which is slower";
  return check;
}

Check check_watchpoints() {
  const char* why = recorder::why_no_watchpoints();
  Check check{"watchpoints", why == nullptr, false, "run --watch sees each change of a reference count", ""};
  if (why != nullptr) {
    check.found = why;
    check.fix = "run --watch reads counts at the begin and the end of operators instead";
  }
  return check;
}

}  // namespace

bool Diagnosis::can_record() const {
  return std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.ok || !check.needed; });
}

std::optional<PythonFacts> ask_python(const std::string& python) {
  const std::optional<std::string> answer = output_of(python, {"-c", kQuestion});
  if (!answer) return std::nullopt;
  const auto json = nlohmann::json::parse(*answer, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  PythonFacts facts{json.value("executable", ""),     json.value("version", ""),
                    json.value("implementation", ""), std::nullopt,
                    json.value("torch_folder", ""),   std::nullopt};
  if (json.contains("torch") && json["torch"].is_string()) facts.torch = json["torch"].get<std::string>();
  if (json.contains("cupti") && json["cupti"].is_string()) facts.cupti = json["cupti"].get<std::string>();
  return facts;
}

std::string default_python() {
  const char* wanted = std::getenv("DCMT_PYTHON");
  return wanted != nullptr && *wanted != '\0' ? wanted : "python3";
}

Diagnosis diagnose(const InstalledParts& parts, const std::string& program) {
  const std::optional<PythonFacts> python = ask_python(program);
  Diagnosis diagnosis;
  diagnosis.checks.push_back(check_system());
  check_python(program, python, diagnosis.checks);
  check_libraries(parts, python, diagnosis.checks);
  diagnosis.checks.push_back(check_cuda_facts());
  diagnosis.checks.push_back(check_gpu());
  diagnosis.checks.push_back(check_shared_memory());
  diagnosis.checks.push_back(check_watchpoints());
  return diagnosis;
}

}  // namespace dcmt::cli
