// What the fuzzing programs share: seeds, a process for each run, a watchdog, the sum.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace dcmt::fuzz {

/// How a run ended, as the exit status of its process.
enum class Outcome : int {
  kDone = 0,     ///< there was a result
  kRefused = 3,  ///< the input was refused with an error
  kWrong = 4,
};

/// Says why on standard error.
Outcome wrong(const std::string& why);

/// Runs `run(seed, folder)` for one seed after the other, each in a child process and an empty folder of its own.
///
///   PROGRAM [--seed FIRST] (--runs N | --seconds S)
///
/// @param done  what kDone is called in the last line
/// @return the program's exit code: 1 if a run failed, threw, crashed or hung, 2 for wrong arguments
int fuzz_main(int argc, char** argv, const std::string& done,
              const std::function<Outcome(std::uint64_t seed, const std::string& folder)>& run);

}  // namespace dcmt::fuzz
