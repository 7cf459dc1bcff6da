#include "cli/prepare.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>

#include "cli/child_output.h"
#include "cli/doctor.h"
#include "cli/installation.h"
#include "cli/redirects.h"
#include "cli/signals_as_before.h"
#include "cli/text.h"
#include "collector/recorder/drive/run.h"
#include "trace/base/build_id.h"
#include "trace/base/scratch_folder.h"

namespace dcmt::cli {
namespace {

namespace fs = std::filesystem;

Error cannot(std::string why) { return {ErrorCode::kCannotRecord, std::move(why)}; }

/// Creates the folder and its parents. New ones are accessible only to the user.
Status make_private(const fs::path& folder) {
  const mode_t before = umask(S_IRWXG | S_IRWXO);
  std::error_code error;
  fs::create_directories(folder, error);
  umask(before);
  if (error)
    return {ErrorCode::kCannotRecord,
            folder.string() + ": cannot be made: " + error.message() + ". XDG_CACHE_HOME names another place."};
  return {};
}

/// A lock from lock() to the end of the object. Other processes wait for it.
class CacheLock {
 public:
  CacheLock() = default;
  ~CacheLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  CacheLock(const CacheLock&) = delete;
  CacheLock& operator=(const CacheLock&) = delete;

  Status lock() {
    const std::string path = (cache_folder() / "lock").string();
    while (true) {
      if (const Status made = make_private(cache_folder()); !made.ok()) return made;
      const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
      if (descriptor < 0) return {ErrorCode::kCannotRecord, path + ": " + std::strerror(errno) + "."};
      if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
        std::fputs("dc-memtrace: another preparation is under way; waiting for it\n", stderr);
        while (flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
        }
      }
      struct stat held {};
      struct stat there {};
      const bool same = fstat(descriptor, &held) == 0 && stat(path.c_str(), &there) == 0 && held.st_ino == there.st_ino;
      if (same) {
        descriptor_ = descriptor;
        return {};
      }
      close(descriptor);  // another process removed the file during the wait
    }
  }

 private:
  int descriptor_ = -1;
};

/// Records a program that makes one tensor. Returns the reason why it was not recorded; nullopt if it was. Fails if it
/// cannot be run.
Expected<std::optional<std::string>> why_not_recorded(const std::string& python) {
  const ScratchFolder scratch;
  if (scratch.path().empty()) return cannot("no folder for temporary files can be made");
  recorder::RunOptions run;
  run.folder = (scratch.path() / "out").string();
  run.libraries = library_folder().string();
  run.prepared = prepared_folder().string();
  run.shipped_operators = (data_folder() / "operators.toml").string();
  run.quiet = true;
  run.owners = false;
  run.command = {python, "-c", "import torch; torch.ones(3)"};
  const SignalsAsBefore signals;
  const StderrRedirect aside(scratch.path() / "stderr");
  DCMT_ASSIGN_OR_RETURN(const recorder::RunResult result, recorder::run(run));
  if (result.job_exit != 0) {
    return cannot(fmt::format("{} cannot import torch (exit {}): {}", python, result.job_exit, aside.last_line()));
  }
  if (!result.traces.empty()) return std::optional<std::string>();
  return std::optional(result.notes.empty() ? "nothing was recorded" : result.notes.front());
}

}  // namespace

Expected<std::string> prepare_provider(const std::string& python) {
  const std::optional<PythonFacts> facts = ask_python(python);
  if (!facts) return cannot(python + " cannot be run. Name a Python with --python.");
  if (!facts->torch)
    return cannot(facts->executable + " has no torch: there is nothing to prepare. Name another with --python.");
  const std::string which = fmt::format("torch {} of {}", *facts->torch, facts->executable);
  const std::string id = build_id_of((fs::path(facts->torch_folder) / "lib" / "libtorch_cpu.so").string());
  const fs::path folder = preparation_folder();
  if (folder.empty())
    return cannot("there is no cache folder, or this installation has no sources: set HOME, or install again.");

  CacheLock lock;
  if (const Status locked = lock.lock(); !locked.ok()) return locked.error();
  DCMT_ASSIGN_OR_RETURN(std::optional<std::string> refusal, why_not_recorded(facts->executable));
  if (!refusal) return which + ": can be recorded, there is nothing to prepare.";
  if (id.empty())
    return cannot(which + ": its libtorch_cpu.so has no build id, by which a prepared provider is found.");

  std::error_code error;
  const fs::path building = folder / "building";
  const fs::path place = folder / id;
  fs::remove_all(building, error);  // left by a preparation that was stopped
  if (const Status made = make_private(building); !made.ok()) return made.error();
  const std::string script = (data_folder() / "source" / "collector" / "torch" / "prepare_provider.py").string();
  if (const auto lacking = failure_of(facts->executable, {script, "--check"})) return cannot(which + ": " + *lacking);
  std::fputs(fmt::format("dc-memtrace: building the provider for {}, some minutes\n", which).c_str(), stderr);
  const auto start = std::chrono::steady_clock::now();
  const std::optional<std::string> failure =
      failure_of(facts->executable, {script, building.string(), (library_folder() / "libdcmt_agent.so").string()});
  if (failure) return cannot(which + ": " + *failure);
  fs::remove(building / "build.log", error);
  fs::remove_all(place, error);
  fs::rename(building, place, error);
  if (error) return cannot(place.string() + ": " + error.message());

  DCMT_ASSIGN_OR_RETURN(refusal, why_not_recorded(facts->executable));
  if (refusal) {
    fs::remove_all(place, error);
    return cannot(which + ": a provider was built, but it refuses this torch: " + *refusal);
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - start);
  return fmt::format("{}: its provider was built in {} s; jobs of this torch are recorded from now on. It is in {}.",
                     which, seconds.count(), place.string());
}

Expected<std::string> clean_cache() {
  const fs::path cache = cache_folder();
  std::error_code error;
  if (cache.empty() || !fs::exists(cache, error)) return std::string("nothing is cached.");
  CacheLock lock;
  if (const Status locked = lock.lock(); !locked.ok()) return locked.error();
  fs::remove_all(cache, error);
  if (error) return cannot(cache.string() + ": " + error.message());
  return "removed " + cache.string() + ".";
}

}  // namespace dcmt::cli
