#include "cli/child_output.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sstream>
#include <utility>

namespace dcmt::cli {

namespace {

struct Ended {
  int status;  ///< as returned by waitpid()
  std::string text;
};

/// Runs the program to its end, and reads what it writes to one of its descriptors. The other one of standard output
/// and standard error goes to /dev/null.
std::optional<Ended> run_and_read(int descriptor, const std::string& program,
                                  const std::vector<std::string>& arguments) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], descriptor);
  const int other = descriptor == STDOUT_FILENO ? STDERR_FILENO : STDOUT_FILENO;
  posix_spawn_file_actions_addopen(&actions, other, "/dev/null", O_WRONLY, 0);
  std::vector<char*> argv{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  Ended ended{};
  if (failed == 0) {
    char buffer[4096];
    for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
      ended.text.append(buffer, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  if (failed != 0) return std::nullopt;
  waitpid(child, &ended.status, 0);
  return ended;
}

bool fine(const std::optional<Ended>& ended) {
  return ended && WIFEXITED(ended->status) && WEXITSTATUS(ended->status) == 0;
}

}  // namespace

std::optional<std::string> output_of(const std::string& program, const std::vector<std::string>& arguments) {
  std::optional<Ended> ended = run_and_read(STDOUT_FILENO, program, arguments);
  return fine(ended) ? std::optional(std::move(ended->text)) : std::nullopt;
}

std::optional<std::string> failure_of(const std::string& program, const std::vector<std::string>& arguments) {
  const std::optional<Ended> ended = run_and_read(STDERR_FILENO, program, arguments);
  if (fine(ended)) return std::nullopt;
  if (!ended) return program + " cannot be started";
  std::string last;
  std::istringstream lines(ended->text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) last = line;
  }
  return last.empty() ? program + " ended without saying why" : last;
}

}  // namespace dcmt::cli
