#include "collector/recorder/target/choose_targets.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

namespace dcmt::recorder {
namespace {

constexpr std::size_t kMostNamed = 8;

bool matches(const std::string& pattern, const std::string& text) {
  return !text.empty() && fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

std::string file_of(const std::string& path) { return std::filesystem::path(path).filename().string(); }

/// "train" of "/home/x/train.py".
std::string script_of(const std::string& path) {
  const std::filesystem::path file(path);
  return file.extension() == ".py" ? file.stem().string() : "";
}

std::string listed(const std::vector<const TargetProcess*>& targets) {
  std::string text;
  for (std::size_t i = 0; i < targets.size() && i < kMostNamed; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ", ", targets[i]->pid);
    if (targets[i]->launch.rank >= 0) text += fmt::format(" (rank {})", targets[i]->launch.rank);
  }
  return targets.size() > kMostNamed ? text + ", …" : text;
}

}  // namespace

bool has_name(const TargetProcess& target, const std::string& pattern) {
  if (matches(pattern, target.name)) return true;
  const std::vector<std::string>& words = target.command;
  if (!words.empty() && matches(pattern, file_of(words[0]))) return true;
  // python [options] train.py ..., python -m package.train ...
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "-m" && i + 1 < words.size()) return matches(pattern, words[i + 1]);
    if (words[i].starts_with('-')) continue;
    const std::string names[] = {words[i], file_of(words[i]), script_of(words[i])};
    return std::ranges::any_of(names, [&](const std::string& name) { return matches(pattern, name); });
  }
  return false;
}

Expected<std::vector<pid_t>> choose_among(const std::vector<TargetProcess>& there, const TargetChoice& choice) {
  const std::string kind = choice.only_standby ? "in standby" : "with torch";
  std::vector<const TargetProcess*> found;
  std::string launch;
  for (const TargetProcess& each : there) {
    if (choice.pid == each.pid) launch = each.launch.name;
  }
  if (choice.pid != 0 && launch.empty()) {
    return cannot_record(
        fmt::format("{} is no rank of a launch by torchrun, deepspeed, mpirun or srun: leave out --all-ranks",
                    process_text(choice.pid)));
  }
  for (const TargetProcess& each : there) {
    const bool named = choice.name.empty() || has_name(each, choice.name);
    const bool of_launch = choice.pid == 0 || each.launch.name == launch;
    const bool is_rank = !choice.all_ranks || !choice.name.empty() || each.launch.rank >= 0;
    if (named && of_launch && is_rank) found.push_back(&each);
  }
  if (found.empty()) {
    const std::string what = choice.name.empty() ? "that is a rank of a launch" : "called " + choice.name;
    return cannot_record(fmt::format("there is no process {} {}; {}", kind, what,
                                     choice.only_standby
                                         ? "dc-memtrace status lists those that there are"
                                         : "one that has not imported torch yet is named by its pid, with --wait"));
  }
  if (!choice.all_ranks && found.size() > 1) {
    return cannot_record(fmt::format("{} processes {} are called {}: {}; give one by its pid, or --all-ranks",
                                     found.size(), kind, choice.name, listed(found)));
  }
  std::set<std::string> launches;
  for (const TargetProcess* each : found) launches.insert(each->launch.name);
  if (launches.size() > 1) {
    return cannot_record(
        fmt::format("there are ranks of {} launches {}: {}; give one of them by its pid, with --all-ranks",
                    launches.size(), kind, listed(found)));
  }
  std::ranges::stable_sort(found, {}, [](const TargetProcess* each) { return each->launch.rank; });
  std::vector<pid_t> pids;
  for (const TargetProcess* each : found) pids.push_back(each->pid);
  return pids;
}

Expected<std::vector<pid_t>> choose_targets(const TargetChoice& choice) {
  if (choice.pid != 0 && !choice.all_ranks) return std::vector<pid_t>{choice.pid};
  if (choice.pid != 0) DCMT_RETURN_IF_ERROR(inspect_process(choice.pid).status());
  return choose_among(choice.only_standby ? all_in_standby() : all_with_torch(), choice);
}

}  // namespace dcmt::recorder
