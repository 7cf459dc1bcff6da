#include "collector/recorder/job/run_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "trace/sql/trace_file.h"

namespace dcmt::recorder {
namespace fs = std::filesystem;

namespace {
std::string run_file(const std::string& folder) { return folder + "/run.json"; }

constexpr char kShared[] = "/dev/shm";
constexpr std::string_view kSharedName = "dc-memtrace-";
constexpr std::string_view kLocalName = ".spool-";

/// As mkdtemp() fills `<prefix>XXXXXX`.
bool is_made_from(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix) || name.size() != prefix.size() + 6) return false;
  return std::all_of(name.begin() + static_cast<std::ptrdiff_t>(prefix.size()), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0; });
}

bool is_spool_folder_name(const std::string& run_folder, const std::string& spool_folder) {
  const fs::path path(spool_folder);
  const std::string name = path.filename().string();
  if (path.parent_path() == kShared) return is_made_from(name, kSharedName);
  std::error_code error;
  return is_made_from(name, kLocalName) && path.is_absolute() &&
         fs::weakly_canonical(path.parent_path(), error) == fs::weakly_canonical(fs::absolute(run_folder), error);
}

/// What a run leaves among its spools.
bool is_spool_file_name(std::string_view name) {
  return name == "operators" || name.ends_with(".spool") || name.ends_with(".refused") ||
         (name.starts_with(".") && name.ends_with(".new"));
}

bool is_trace_name(const std::string& name) {
  return name.find('/') == std::string::npos && name.find('\0') == std::string::npos && name.ends_with(".dcmt") &&
         !name.starts_with(".");
}

Error not_a_spool_folder(const std::string& run_folder, const std::string& why) {
  return {ErrorCode::kBadInput, run_file(run_folder) + ": " + why + "; nothing of it is touched"};
}

/// A private folder of ours: a descriptor of it, -1 with errno otherwise (EPERM: not private or not ours).
int open_private(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status {};
  if (fd < 0) return -1;
  if (fstat(fd, &status) == 0 && status.st_uid == geteuid() && (status.st_mode & 0777) == 0700) return fd;
  close(fd);
  errno = EPERM;
  return -1;
}
}  // namespace

Status prepare_run_folder(const std::string& folder, bool replace) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder, error)) {
    return {ErrorCode::kIo, folder + ": the output folder cannot be made: " + error.message()};
  }
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    return {ErrorCode::kIo, folder + ": the output folder cannot be written to: " + std::strerror(errno)};
  }
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool ours = name == "run.json" || name.find(".dcmt") != std::string::npos;
    if (!ours) continue;
    if (!replace) {
      return {ErrorCode::kUsage,
              folder + " already holds a run. Choose another folder with -o, or add --force to replace it."};
    }
    fs::remove(entry.path(), error);
  }
  return {};
}

Status check_can_hold_traces(const std::string& folder) {
  const std::string path = folder + "/.probe.dcmt";
  std::error_code error;
  const auto remove_probe = [&] {
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path + suffix, error);
  };
  remove_probe();
  Status status;
  {
    const Expected<Database> probe = create_trace(path);
    status = probe.status();
  }
  remove_probe();
  if (status.ok()) return {};
  return {ErrorCode::kIo, status.error().message +
                              " Traces cannot be written there (no room, or a file system without locks, "
                              "as some network ones): choose a local folder with -o."};
}

Status save_run(const std::string& folder, const RunState& run) {
  nlohmann::ordered_json json;
  json["state"] = run.state;
  json["command"] = run.command;
  json["recorder_pid"] = run.recorder_pid;
  json["recorder_start"] = run.recorder_start;
  json["spool_folder"] = run.spool_folder;
  json["traces"] = nlohmann::ordered_json::object();
  for (const auto& [spool, name] : run.traces) json["traces"][spool] = name;
  const std::string hidden = run_file(folder) + ".new";
  std::ofstream file(hidden);
  file << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  file.close();
  std::error_code error;
  if (!file) {
    const std::string why = std::strerror(errno);
    fs::remove(hidden, error);  // what was saved before stays
    return {ErrorCode::kIo, run_file(folder) + ": cannot be written: " + why};
  }
  fs::rename(hidden, run_file(folder), error);
  if (error) return {ErrorCode::kIo, run_file(folder) + ": cannot be written: " + error.message()};
  return {};
}

Expected<RunState> load_run(const std::string& folder) {
  std::ifstream file(run_file(folder));
  std::stringstream text;
  text << file.rdbuf();
  const auto json = nlohmann::json::parse(text.str(), nullptr, false);
  const Error bad{ErrorCode::kBadInput, run_file(folder) + ": is not a run of dc-memtrace"};
  if (!json.is_object()) return bad;
  try {
    RunState run;
    run.state = json.at("state").get<std::string>();
    run.command = json.at("command").get<std::vector<std::string>>();
    run.recorder_pid = json.at("recorder_pid").get<std::int64_t>();
    run.recorder_start = json.at("recorder_start").get<std::uint64_t>();
    run.spool_folder = json.at("spool_folder").get<std::string>();
    for (const auto& [spool, name] : json.at("traces").items()) {
      if (!is_trace_name(name.get<std::string>())) return bad;
      run.traces[spool] = name.get<std::string>();
    }
    return run;
  } catch (const std::exception&) {
    return bad;
  }
}

bool is_run_folder(const std::string& folder) {
  std::error_code error;
  return fs::is_regular_file(run_file(folder), error);
}

Expected<std::string> make_spool_folder(const std::string& run_folder, std::uint64_t wanted_bytes) {
  struct statvfs room {};
  if (statvfs(kShared, &room) == 0 && std::uint64_t{room.f_bavail} * room.f_frsize >= wanted_bytes) {
    std::string pattern = std::string(kShared) + "/" + std::string(kSharedName) + "XXXXXX";
    if (mkdtemp(pattern.data()) != nullptr) return pattern;
  }
  std::string pattern = fs::absolute(run_folder).string() + "/" + std::string(kLocalName) + "XXXXXX";
  if (mkdtemp(pattern.data()) != nullptr) return pattern;
  return Error{ErrorCode::kCannotRecord, std::string("no folder for spools can be made: ") + std::strerror(errno)};
}

Status check_spool_folder(const std::string& run_folder, const std::string& spool_folder) {
  if (!is_spool_folder_name(run_folder, spool_folder)) {
    return not_a_spool_folder(run_folder, "names a folder for spools that no run here would make");
  }
  const int fd = open_private(spool_folder);
  if (fd >= 0) {
    close(fd);
  } else if (errno != ENOENT) {
    return not_a_spool_folder(run_folder, "names a folder for spools that is not a private folder of this user");
  }
  return {};
}

bool remove_spool_folder(const std::string& run_folder, const std::string& spool_folder) {
  if (!is_spool_folder_name(run_folder, spool_folder)) return false;
  const int fd = open_private(spool_folder);
  if (fd < 0) return errno == ENOENT;
  DIR* folder = fdopendir(fd);
  if (folder == nullptr) {
    close(fd);
    return false;
  }
  std::vector<std::string> names;
  for (const dirent* entry = readdir(folder); entry != nullptr; entry = readdir(folder)) {
    if (is_spool_file_name(entry->d_name)) names.emplace_back(entry->d_name);
  }
  for (const std::string& name : names) unlinkat(fd, name.c_str(), 0);
  closedir(folder);
  return rmdir(spool_folder.c_str()) == 0;
}

std::uint64_t process_start(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return 0;
  // The name in parentheses may hold anything; fields are counted from its end. State is the 3rd, start time the 22nd.
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 2));
  std::string field;
  std::uint64_t start = 0;
  for (int index = 3; fields >> field; ++index) {
    if (index == 3 && (field == "Z" || field == "X")) return 0;
    if (index == 22) {
      start = std::strtoull(field.c_str(), nullptr, 10);
      break;
    }
  }
  return start;
}

}  // namespace dcmt::recorder
