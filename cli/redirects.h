// Redirects standard error to a file, or standard output to standard error, for a while.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

namespace dcmt::cli {

/// Redirects the standard error of this process and its children to a file, because it is not part of the result.
class StderrRedirect {
 public:
  explicit StderrRedirect(const std::filesystem::path& file)
      : file_(file), before_(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) {
    const int to = open(file.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
    if (to < 0) return;
    dup2(to, STDERR_FILENO);
    close(to);
  }
  ~StderrRedirect() {
    dup2(before_, STDERR_FILENO);
    close(before_);
  }
  StderrRedirect(const StderrRedirect&) = delete;
  StderrRedirect& operator=(const StderrRedirect&) = delete;

  /// The last line written so far; empty if there is none.
  [[nodiscard]] std::string last_line() const {
    std::ifstream said(file_);
    std::string last;
    for (std::string line; std::getline(said, line);) {
      if (!line.empty()) last = line;
    }
    return last;
  }

 private:
  std::filesystem::path file_;
  int before_;
};

/// Redirects standard output to standard error during its lifetime.
class StdoutRedirect {
 public:
  explicit StdoutRedirect(bool aside) {
    if (!aside) return;
    std::cout.flush();
    before_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  ~StdoutRedirect() {
    if (before_ < 0) return;
    dup2(before_, STDOUT_FILENO);
    close(before_);
  }
  StdoutRedirect(const StdoutRedirect&) = delete;
  StdoutRedirect& operator=(const StdoutRedirect&) = delete;

 private:
  int before_ = -1;
};

}  // namespace dcmt::cli
