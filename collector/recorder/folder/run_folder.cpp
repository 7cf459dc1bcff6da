#include "collector/recorder/folder/run_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>
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
#include <string_view>

#include "collector/recorder/folder/local_folder.h"
#include "collector/recorder/folder/private_folder.h"
#include "collector/recorder/target/process_table.h"
#include "trace/base/read_file.h"
#include "trace/base/rename_new.h"

namespace dcmt::recorder {
namespace fs = std::filesystem;

namespace {
constexpr char kShared[] = "/dev/shm";
constexpr std::string_view kSharedName = "dc-memtrace-";
constexpr std::string_view kLocalName = ".spool-";

bool is_spool_folder_name(const std::string& run_folder, const std::string& spool_folder) {
  const fs::path path(spool_folder);
  const std::string name = path.filename().string();
  if (path.parent_path() == kShared) return is_made_from(name, kSharedName);
  std::error_code error;
  return is_made_from(name, kLocalName) && path.is_absolute() &&
         fs::weakly_canonical(path.parent_path(), error) == fs::weakly_canonical(fs::absolute(run_folder), error);
}

/// True for names of files that a run leaves among its spools.
bool is_spool_file_name(std::string_view name) {
  return name == "operators" || name == "proved" || name.ends_with(".spool") || name.ends_with(".refused") ||
         (name.starts_with(".") && name.ends_with(".new"));
}

bool is_run_file_name(std::string_view name) {
  if (name == "run.json") return true;
  if (!name.starts_with("run-") || !name.ends_with(".json")) return false;
  const std::string_view number = name.substr(4, name.size() - 9);
  return !number.empty() &&
         std::all_of(number.begin(), number.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_trace_name(const std::string& name) {
  return name.find('/') == std::string::npos && name.find('\0') == std::string::npos && name.ends_with(".dcmt") &&
         !name.starts_with(".");
}

Error not_a_spool_folder(const std::string& run_folder, const std::string& why) {
  return {ErrorCode::kBadInput, run_folder + "/run.json: " + why + "; nothing of it is touched"};
}

std::string text_of(const RunState& run) {
  nlohmann::ordered_json json;
  json["state"] = run.state;
  json["command"] = run.command;
  json["recorder_pid"] = run.recorder_pid;
  json["recorder_start"] = run.recorder_start;
  json["host"] = run.host;
  json["boot"] = run.boot;
  if (!run.launch.empty()) json["launch"] = run.launch;
  if (!run.launch.empty()) json["member"] = run.member;
  if (!run.job.empty()) json["job"] = run.job;
  if (!run.restart.empty()) json["restart"] = run.restart;
  json["spool_folder"] = run.spool_folder;
  if (!run.local_folder.empty()) json["local_folder"] = run.local_folder;
  json["traces"] = nlohmann::ordered_json::object();
  for (const auto& [spool, name] : run.traces) json["traces"][spool] = name;
  json["notes"] = run.notes;
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
}

/// Makes a new file (0600) with an unpredictable name.
Expected<std::string> write_hidden(const std::string& folder, const RunState& run) {
  std::string path = folder + "/.run-XXXXXX";
  const int fd = mkostemp(path.data(), O_CLOEXEC);
  const std::string text = text_of(run);
  const bool written = fd >= 0 && write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const int why = written ? 0 : errno;
  const bool closed = fd >= 0 && close(fd) == 0;
  if (written && closed) return path;
  if (fd >= 0) unlink(path.c_str());
  return Error{ErrorCode::kIo,
               folder + "/" + run.file + ": cannot be written: " + std::strerror(written ? errno : why)};
}
}  // namespace

std::vector<std::string> run_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (is_run_file_name(name) && fs::is_regular_file(entry.symlink_status(error))) files.push_back(name);
  }
  std::sort(files.begin(), files.end());
  return files;
}

Status create_run(const std::string& folder, RunState& run) {
  DCMT_ASSIGN_OR_RETURN(std::string hidden, write_hidden(folder, run));
  int why = EEXIST;
  for (int number = 1; why == EEXIST; ++number) {
    run.file = number == 1 ? "run.json" : "run-" + std::to_string(number) + ".json";
    why = rename_to_new(hidden, folder + "/" + run.file);
  }
  if (why == 0) return {};
  unlink(hidden.c_str());
  return {ErrorCode::kIo, folder + "/" + run.file + ": cannot be written: " + std::strerror(why)};
}

Status save_run(const std::string& folder, const RunState& run) {
  DCMT_ASSIGN_OR_RETURN(std::string hidden, write_hidden(folder, run));
  const std::string path = folder + "/" + run.file;
  if (rename(hidden.c_str(), path.c_str()) == 0) return {};
  const int why = errno;
  unlink(hidden.c_str());
  return {ErrorCode::kIo, path + ": cannot be written: " + std::strerror(why)};
}

Expected<RunState> load_run(const std::string& folder, const std::string& run_file) {
  const std::string path = folder + "/" + run_file;
  const auto json = nlohmann::json::parse(read_file(path).value_or(""), nullptr, false);
  const Error bad{ErrorCode::kBadInput, path + ": is not a run of dc-memtrace"};
  if (!json.is_object()) return bad;
  try {
    RunState run;
    run.file = run_file;
    run.state = json.at("state").get<std::string>();
    run.command = json.at("command").get<std::vector<std::string>>();
    run.recorder_pid = json.at("recorder_pid").get<std::int64_t>();
    run.recorder_start = json.at("recorder_start").get<std::uint64_t>();
    run.spool_folder = json.at("spool_folder").get<std::string>();
    run.local_folder = json.value("local_folder", "");
    run.host = json.value("host", "");
    run.boot = json.value("boot", "");
    run.launch = json.value("launch", "");
    run.member = json.value("member", "");
    run.job = json.value("job", "");
    run.restart = json.value("restart", "");
    run.notes = json.value("notes", std::vector<std::string>());
    for (const auto& [spool, name] : json.at("traces").items()) {
      if (!is_trace_name(name.get<std::string>())) return bad;
      run.traces[spool] = name.get<std::string>();
    }
    return run;
  } catch (const std::exception&) {
    return bad;
  }
}

std::string folder_of_traces(const std::string& folder, const RunState& run) {
  return run.local_folder.empty() ? folder : run.local_folder;
}

LocalTraces local_traces(const std::string& folder) {
  LocalTraces found;
  std::error_code error;
  for (const std::string& file : run_files(folder)) {
    const Expected<RunState> run = load_run(folder, file);
    if (!run.ok() || run->local_folder.empty()) continue;
    const bool here = run->host == this_host();
    if (here && !check_local_folder(run->local_folder).ok()) continue;
    for (const auto& [spool, name] : run->traces) {
      if (fs::exists(folder + "/" + name, error)) continue;
      const std::string path = run->local_folder + "/" + name;
      if (!here) {
        found.notes.push_back(fmt::format("{} is still on {}: {}", name, run->host, path));
      } else if (fs::exists(path, error)) {
        found.here.push_back(path);
      }
    }
  }
  return found;
}

std::string this_host() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

std::string this_boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  return id;
}

bool is_recording(const RunState& run) {
  if (run.state != "recording" || run.recorder_pid == 0) return false;
  if (!run.boot.empty() && run.boot != this_boot())
    return run.host != this_host();  // otherwise the machine has rebooted since
  return process_start(run.recorder_pid) == run.recorder_start;
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

}  // namespace dcmt::recorder
