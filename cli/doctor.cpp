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

#include "cli/child_output.h"
#include "cli/text.h"

namespace dcmt::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kSpoolBytes = 64LL << 20;  // what `run` takes of shared memory per process
constexpr int kOldestPython = 11;
constexpr int kNewestPython = 13;

// torch is not imported: that takes seconds, and only its version is asked for.
constexpr char kQuestion[] =
    "import glob,json,os,platform,sys\n"
    "from importlib import metadata,util\n"
    "torch=None\n"
    "if util.find_spec('torch'):\n"
    "  try: torch=metadata.version('torch')\n"
    "  except metadata.PackageNotFoundError: torch='unknown'\n"
    "places=[p+'/nvidia/*/lib' for p in "
    "sys.path]+[os.environ.get('CUDA_HOME','/usr/local/cuda')+'/extras/CUPTI/lib64']\n"
    "cupti=next((f for p in places for f in sorted(glob.glob(p+'/libcupti.so*'))),None)\n"
    "print(json.dumps({'cupti':cupti,'executable':sys.executable,'version':platform.python_version(),"
    "'implementation':platform.python_implementation(),'torch':torch}))\n";

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
  check.ok = std::string(name.sysname) == "Linux" && std::string(name.machine) == "x86_64";
  if (!check.ok) check.fix = "record on x86-64 Linux; reports work anywhere";
  return check;
}

void check_python(std::vector<Check>& checks) {
  const char* wanted = std::getenv("DCMT_PYTHON");
  const std::string program = wanted != nullptr && *wanted != '\0' ? wanted : "python3";
  const std::optional<PythonFacts> python = ask_python(program);
  Check version{"python", false, true, "", ""};
  Check torch{"torch", false, true, "", ""};
  if (!python) {
    version.found = program + " cannot be run";
    version.fix = "name a Python in DCMT_PYTHON";
    torch.found = "not looked for";
    torch.fix = version.fix;
  } else {
    const int minor = minor_of(python->version);
    version.found = fmt::format("{} {} ({})", python->implementation, python->version, python->executable);
    version.ok = python->implementation == "CPython" && minor >= kOldestPython && minor <= kNewestPython;
    if (!version.ok) version.fix = fmt::format("use CPython 3.{} to 3.{}", kOldestPython, kNewestPython);
    torch.ok = python->torch.has_value();
    torch.found = torch.ok ? *python->torch : "none in this Python";
    if (!torch.ok) torch.fix = "name a Python that has torch in DCMT_PYTHON";
    if (torch.ok && !python->torch->starts_with("2.11.")) torch.found += ", best effort: 2.11 is tested";
  }
  Check cupti{"cupti", python && python->cupti, false, "", ""};
  cupti.found = cupti.ok ? *python->cupti : "not found beside torch";
  if (!cupti.ok) cupti.fix = "install torch for CUDA: without CUPTI kernels are not seen, only operators that read";
  checks.push_back(std::move(version));
  checks.push_back(std::move(torch));
  checks.push_back(std::move(cupti));
}

/// The driver lists its devices; nothing of CUDA is loaded to look.
Check check_gpu() {
  std::error_code none;
  const fs::directory_iterator devices("/proc/driver/nvidia/gpus", none);
  const std::int64_t count = none ? 0 : std::distance(fs::begin(devices), fs::end(devices));
  Check check{"gpu", count > 0, false, "none that NVIDIA's driver lists", ""};
  if (check.ok) check.found = counted(count, "NVIDIA GPU");
  if (!check.ok) check.fix = "what happens on the CPU is recorded in full; facts of a GPU need one";
  return check;
}

void check_libraries(const std::string& folder, std::vector<Check>& checks) {
  struct Library {
    const char *name, *file, *without;
  };
  static constexpr Library kLibraries[] = {
      {"agent", "libdcmt_agent.so", ""},
      {"torch provider", "libdcmt_torch.so", ""},
      {"python provider", "libdcmt_python.so", "without it: no Python stacks and no variable names"},
      {"cuda provider", "libdcmt_cuda.so", "without it: no kernels; it needs the headers of CUPTI"},
  };
  for (const Library& library : kLibraries) {
    std::error_code ignored;
    const fs::path path = fs::path(folder) / library.file;
    Check check{library.name, fs::exists(path, ignored), *library.without == '\0', path.string(), ""};
    if (!check.ok) {
      check.found += " is missing";
      check.fix = "build with -DDCMT_COLLECTOR=ON";
      if (!check.needed) check.fix += fmt::format(" ({})", library.without);
    }
    checks.push_back(std::move(check));
  }
}

/// The build says it: nothing of CUDA is loaded to look.
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
  // Where it is small or missing, spools lie in the output folder, and a page that goes to the disk slows a hook.
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

}  // namespace

bool Diagnosis::can_record() const {
  return std::all_of(checks.begin(), checks.end(), [](const Check& check) { return check.ok || !check.needed; });
}

std::optional<PythonFacts> ask_python(const std::string& python) {
  const std::optional<std::string> answer = output_of(python, {"-c", kQuestion});
  if (!answer) return std::nullopt;
  const auto json = nlohmann::json::parse(*answer, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  PythonFacts facts{json.value("executable", ""), json.value("version", ""), json.value("implementation", ""),
                    std::nullopt, std::nullopt};
  if (json.contains("torch") && json["torch"].is_string()) facts.torch = json["torch"].get<std::string>();
  if (json.contains("cupti") && json["cupti"].is_string()) facts.cupti = json["cupti"].get<std::string>();
  return facts;
}

Diagnosis diagnose(const std::string& libraries) {
  Diagnosis diagnosis;
  diagnosis.checks.push_back(check_system());
  check_python(diagnosis.checks);
  check_libraries(libraries, diagnosis.checks);
  diagnosis.checks.push_back(check_cuda_facts());
  diagnosis.checks.push_back(check_gpu());
  diagnosis.checks.push_back(check_shared_memory());
  return diagnosis;
}

std::string libraries_folder() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  return error ? std::string("../lib/dcmt") : (self.parent_path().parent_path() / "lib" / "dcmt").string();
}

}  // namespace dcmt::cli
