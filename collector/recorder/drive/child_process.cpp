#include "collector/recorder/drive/child_process.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "trace/base/closest_word.h"

namespace dcmt::recorder {
namespace {

constexpr int kNotFound = 127;
constexpr int kNotExecutable = 126;

int check_file(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return errno == ENOENT || errno == ENOTDIR ? kNotFound : kNotExecutable;
  return S_ISREG(file.st_mode) && access(path.c_str(), X_OK) == 0 ? 0 : kNotExecutable;
}

/// A file of the same folder whose name could be meant; empty if there is none.
std::string file_with_like_name(const std::string& path) {
  const std::filesystem::path wanted(path);
  const std::filesystem::path folder = wanted.has_parent_path() ? wanted.parent_path() : ".";
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored)) names.push_back(at->path().filename().string());
  }
  const std::string name = closest_word(wanted.filename().string(), names);
  return name.empty() || !wanted.has_parent_path() ? name : (wanted.parent_path() / name).string();
}

/// A process that dies with its parent must die with ours, too.
void inherit_parent_death(int signal, pid_t parent) {
  if (signal == 0) return;
  prctl(PR_SET_PDEATHSIG, signal);
  if (getppid() != parent) raise(signal);
}

}  // namespace

int check_executable(const std::string& program) {
  if (program.empty()) return kNotFound;
  if (program.find('/') != std::string::npos) return check_file(program);
  const char* path = getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/bin:/usr/bin");
  int code = kNotFound;
  for (std::string folder; std::getline(folders, folder, ':');) {
    const int found = check_file(folder.empty() ? "./" + program : folder + "/" + program);
    if (found == 0) return 0;
    if (found == kNotExecutable) code = found;
  }
  return code;
}

std::string not_started_line(const std::string& program, int code) {
  if (code != kNotFound) return program + ": cannot be executed";
  const bool is_file = program.ends_with(".py") || program.find('/') != std::string::npos;
  if (!is_file) return program + ": command not found";
  const std::string other = file_with_like_name(program);
  return program + ": no such file" + (other.empty() ? "" : ". There is " + other);
}

Expected<pid_t> start_child(const std::vector<std::string>& command,
                            const std::vector<std::pair<std::string, std::string>>& environment,
                            const SignalQueue& signals) {
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);

  int parent_death = 0;
  prctl(PR_GET_PDEATHSIG, &parent_death);
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) {
    return Error{ErrorCode::kCannotRecord, std::string("the command cannot be started: ") + std::strerror(errno)};
  }
  if (pid != 0) return pid;
  inherit_parent_death(parent_death, parent);
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  signals.restore();
  execvp(words[0], words.data());
  const int why = errno;
  fprintf(stderr, "dc-memtrace: %s: %s\n", words[0], why == ENOENT ? "command not found" : std::strerror(why));
  _exit(why == ENOENT ? kNotFound : kNotExecutable);
}

int shell_exit_code(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace dcmt::recorder
