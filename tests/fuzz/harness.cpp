#include "tests/fuzz/harness.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>

namespace dcmt::fuzz {
namespace {

/// A run takes milliseconds; one that takes this long hangs.
constexpr unsigned kDeadlineSeconds = 30;

using Run = std::function<Outcome(std::uint64_t seed, const std::string& folder)>;

Outcome run_caught(const Run& run, std::uint64_t seed, const std::string& folder) {
  try {
    return run(seed, folder);
  } catch (const std::exception& error) {
    return wrong(std::string("an exception: ") + error.what());
  }
}

/// Runs one seed in a child; returns what became of it.
Outcome run_apart(const Run& run, std::uint64_t seed, const std::string& folder) {
  std::filesystem::create_directory(folder);
  const pid_t child = fork();
  if (child == 0) {
    alarm(kDeadlineSeconds);
    const Outcome outcome = run_caught(run, seed, folder);
    std::fflush(nullptr);
    _exit(static_cast<int>(outcome));
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::filesystem::remove_all(folder);
  if (WIFEXITED(status)) {
    const auto outcome = static_cast<Outcome>(WEXITSTATUS(status));
    if (outcome == Outcome::kDone || outcome == Outcome::kRefused) return outcome;
    std::fprintf(stderr, "seed %llu failed: exit %d\n", static_cast<unsigned long long>(seed), WEXITSTATUS(status));
  } else {
    std::fprintf(stderr, "seed %llu failed: signal %d%s\n", static_cast<unsigned long long>(seed), WTERMSIG(status),
                 WTERMSIG(status) == SIGALRM ? " (it hung)" : "");
  }
  return Outcome::kWrong;
}

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t runs = std::numeric_limits<std::uint64_t>::max();
  double seconds = std::numeric_limits<double>::infinity();
};

bool parse(int argc, char** argv, Options& options) {
  bool bounded = false;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    if (name == "--seed") {
      options.seed = std::strtoull(argv[i + 1], nullptr, 10);
    } else if (name == "--runs") {
      options.runs = std::strtoull(argv[i + 1], nullptr, 10);
      bounded = true;
    } else if (name == "--seconds") {
      options.seconds = std::strtod(argv[i + 1], nullptr);
      bounded = true;
    } else {
      return false;
    }
  }
  return bounded && argc % 2 == 1;
}

}  // namespace

Outcome wrong(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  return Outcome::kWrong;
}

int fuzz_main(int argc, char** argv, const std::string& done_word, const Run& run) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fprintf(stderr, "usage: %s [--seed FIRST] (--runs N | --seconds S)\n", argv[0]);
    return 2;
  }
  std::string folder = (std::filesystem::temp_directory_path() / "dcmt-fuzz-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    std::perror("no temporary folder");
    return 1;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  std::uint64_t done = 0;
  std::uint64_t refused = 0;
  std::uint64_t failed = 0;
  for (; done < options.runs && elapsed() < options.seconds; ++done) {
    const Outcome outcome = run_apart(run, options.seed + done, folder + "/run");
    refused += outcome == Outcome::kRefused;
    failed += outcome == Outcome::kWrong;
  }
  std::filesystem::remove_all(folder);
  std::printf("seeds %llu to %llu: %llu %s, %llu refused, %llu failed\n", static_cast<unsigned long long>(options.seed),
              static_cast<unsigned long long>(options.seed + done - 1),
              static_cast<unsigned long long>(done - refused - failed), done_word.c_str(),
              static_cast<unsigned long long>(refused), static_cast<unsigned long long>(failed));
  return failed == 0 ? 0 : 1;
}

}  // namespace dcmt::fuzz
