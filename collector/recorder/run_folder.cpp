#include "collector/recorder/run_folder.h"

#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace dcmt::recorder {
namespace fs = std::filesystem;

namespace {
std::string run_file(const std::string& folder) { return folder + "/run.json"; }
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

Status save_run(const std::string& folder, const RunState& run) {
  nlohmann::ordered_json json;
  json["state"] = run.state;
  json["command"] = run.command;
  json["recorder_pid"] = run.recorder_pid;
  json["recorder_start"] = run.recorder_start;
  json["spool_folder"] = run.spool_folder;
  json["traces"] = nlohmann::ordered_json::object();
  for (const auto& [pid, name] : run.traces) json["traces"][std::to_string(pid)] = name;
  const std::string hidden = run_file(folder) + ".new";
  std::ofstream(hidden) << json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
  std::error_code error;
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
    for (const auto& [pid, name] : json.at("traces").items()) run.traces[std::stoll(pid)] = name.get<std::string>();
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
  if (statvfs("/dev/shm", &room) == 0 && std::uint64_t{room.f_bavail} * room.f_frsize >= wanted_bytes) {
    std::string pattern = "/dev/shm/dc-memtrace-XXXXXX";
    if (mkdtemp(pattern.data()) != nullptr) return pattern;
  }
  std::string pattern = fs::absolute(run_folder).string() + "/.spool-XXXXXX";
  if (mkdtemp(pattern.data()) != nullptr) return pattern;
  return Error{ErrorCode::kCannotRecord, std::string("no folder for spools can be made: ") + std::strerror(errno)};
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
