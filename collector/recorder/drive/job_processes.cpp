#include "collector/recorder/drive/job_processes.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <utility>

#include "collector/recorder/target/process_table.h"
#include "collector/recorder/target/watched_exit.h"
#include "trace/base/read_file.h"

namespace dcmt::recorder {
namespace {

namespace fs = std::filesystem;

/// Time between two searches for processes that have begun or ended.
constexpr auto kSearchEvery = std::chrono::milliseconds(50);

/// From the process's end if that is known, else from the agent's state.
std::string exit_of(const RecordedProcess& process, const Command& command) {
  const std::optional<int> status = process.pid == command.pid() ? command.wait_status() : process.exit.wait_status();
  return status ? exit_words(*status) : process.recorder->unseen_exit();
}

/// A process whose start could not be read from /proc cannot be found: it is recorded until the command has ended.
bool has_ended(const RecordedProcess& process, const Command& command) {
  const std::uint64_t start = process.recorder->spool().facts().process_start;
  if (process.pid == command.pid() || start == 0) return command.wait_status().has_value();
  if (process.pid == 0) return true;
  // The first thread of a process can end, and be a zombie, before the others.
  if (const std::optional<bool> ended = process.exit.has_ended()) return *ended;
  return process_start(process.pid) != start;
}

}  // namespace

JobProcesses::JobProcesses(std::string spool_folder, std::vector<std::string> words, const Launch& launch,
                           Session& session)
    : spool_folder_(std::move(spool_folder)),
      words_(std::move(words)),
      launch_(launch),
      session_(session),
      unseen_(spool_folder_) {}

Expected<std::size_t> JobProcesses::drain(const Command& command) {
  const auto now = std::chrono::steady_clock::now();
  const bool is_over = command.wait_status().has_value();
  const bool search = now - last_search_ > kSearchEvery || is_over != saw_command_end_;
  if (search) {
    last_search_ = now;
    saw_command_end_ = is_over;
    find_new(command);
    if (!is_over) unseen_.inspect(command.pid(), seen_pids_);
  }
  if (is_over) {
    for (RecordedProcess* each : session_.live()) each->recorder->begin_no_reading();
  }
  DCMT_ASSIGN_OR_RETURN(const std::size_t drained, session_.drain());
  if (search) finish_ended(command);
  return drained;
}

void JobProcesses::abandon_rest() {
  for (RecordedProcess* each : session_.live()) {
    session_.note(fmt::format("process {} still runs; its trace ends here", each->recorder->spool().facts().pid));
    finish(*each, "still running");
  }
  session_.wait_for_moves();
  for (std::string& each : unseen_.notes()) session_.note(std::move(each));
}

void JobProcesses::find_new(const Command& command) {
  std::error_code error;
  std::multimap<std::uint64_t, std::pair<std::string, spool::ProcessFacts>> found;  // sorted by start time
  for (const auto& entry : fs::directory_iterator(spool_folder_, error)) {
    const std::string path = entry.path().string();
    const std::string suffix = entry.path().extension().string();
    if ((suffix != ".spool" && suffix != ".refused") || !seen_.insert(path).second) continue;
    if (suffix == ".refused") {
      const std::string text = read_file(path).value_or("");
      const std::string why = text.substr(0, text.find('\n'));
      session_.note(fmt::format("process {} is not recorded: {}", entry.path().stem().string(), why));
      seen_pids_.insert(static_cast<pid_t>(std::strtol(entry.path().stem().c_str(), nullptr, 10)));
      continue;
    }
    Expected<spool::SpoolReader> peek = spool::SpoolReader::open(path, spool::Purpose::kInspect);
    if (peek.ok()) {
      // Before it is taken over, because from then on the job does not keep it open.
      keeper_.keep(path, peek->memory());
      found.emplace(peek->facts().start_tsc, std::pair{path, peek->facts()});
    } else {
      session_.note(peek.error().message);
    }
  }
  for (const auto& [start, spool] : found) open(spool.first, spool.second, command);
}

void JobProcesses::open(const std::string& path, const spool::ProcessFacts& facts, const Command& command) {
  finish_earlier_image(facts);
  unseen_.has_spool(facts.process_start);
  pid_t pid = pid_here(facts.pid, facts.process_start);
  if (pid == 0 && static_cast<pid_t>(facts.pid) == command.pid()) pid = command.pid();  // it has just ended
  seen_pids_.insert(pid);
  Expected<spool::SpoolReader> spool = spool::SpoolReader::open(path, spool::Purpose::kDrain);
  if (!spool.ok()) return session_.note(spool.error().message);
  NewProcess process{.source = path,
                     .spool = std::move(*spool),
                     .pid = pid,
                     .number = facts.pid,
                     .command = words_of(pid),
                     .rank = facts.rank,
                     .world_size = facts.world_size};
  // A launcher without RANK has set the command's rank.
  if (facts.rank < 0 && pid == command.pid()) {
    process.rank = launch_.rank;
    process.world_size = launch_.world_size;
  }
  if (const auto begun = session_.begin(std::move(process)); !begun.ok()) session_.note(begun.error().message);
}

/// A process that has executed another program has a new spool; the old one gets no further records.
void JobProcesses::finish_earlier_image(const spool::ProcessFacts& facts) {
  for (RecordedProcess* each : session_.live()) {
    const spool::ProcessFacts& other = each->recorder->spool().facts();
    if (other.pid == facts.pid && other.process_start == facts.process_start) finish(*each, "exec");
  }
}

void JobProcesses::finish_ended(const Command& command) {
  for (RecordedProcess* each : session_.live()) {
    if (has_ended(*each, command)) finish(*each, exit_of(*each, command));
  }
}

void JobProcesses::finish(RecordedProcess& process, const std::string& exit) {
  const std::string spool = process.source;
  if (!session_.finish(process, exit).ok()) return;
  std::error_code error;
  fs::remove(spool, error);
  keeper_.let_go(spool);
}

std::vector<std::string> JobProcesses::words_of(pid_t pid) const {
  std::istringstream file(read_file(fmt::format("/proc/{}/cmdline", pid)).value_or(""));
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words.empty() ? words_ : words;
}

}  // namespace dcmt::recorder
