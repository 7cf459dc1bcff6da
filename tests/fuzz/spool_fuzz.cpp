// Hands the recorder spools that no agent would leave: mutated ones, random ones, ones that change while they are read.
//
//   spool_fuzz [--seed FIRST] [--runs N | --seconds S]
//
// A run depends on its seed alone and happens in a process of its own, so the seed of a run that fails is known. A
// spool may be refused with one line; otherwise its trace must be written, open and be whole.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <string>

#include "analyzer/model/report.h"
#include "cli/inputs.h"
#include "cli/json_writer.h"
#include "cli/report_text.h"
#include "collector/recorder/process/process_recorder.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/random.h"
#include "tests/fuzz/spool_image.h"
#include "trace/sql/trace_file.h"

namespace {

using namespace dcmt;  // NOLINT(google-build-using-namespace)
using fuzz::Outcome;
using fuzz::wrong;
using recorder::ProcessRecorder;

/// The spool file of a run, mapped as the agent that keeps writing into it would have it.
class SpoolFile {
 public:
  SpoolFile(std::string path, const std::string& image) : path_(std::move(path)), bytes_(image.size()) {
    std::ofstream(path_, std::ios::binary) << image;
  }

  void change(fuzz::Random& random) const {
    const int fd = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    void* base = bytes_ != 0 ? mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    ::close(fd);
    if (base == MAP_FAILED) return;
    fuzz::mutate_in_place(static_cast<char*>(base), bytes_, random);
    munmap(base, bytes_);
  }
  /// Somebody shortens it under its readers.
  void cut(fuzz::Random& random) {
    if (bytes_ == 0) return;
    bytes_ = random.below(bytes_);
    static_cast<void>(::truncate(path_.c_str(), static_cast<off_t>(bytes_)));
  }

 private:
  std::string path_;
  std::size_t bytes_;
};

std::string make_image(fuzz::Random& random, bool& pristine) {
  pristine = false;
  const std::uint64_t kind = random.below(100);
  if (kind < 5) {
    std::string bytes(random.below(200'000), '\0');
    for (char& byte : bytes) byte = static_cast<char>(random.bits());
    return bytes;
  }
  std::string image = image_of(kind < 40 ? fuzz::noise(random) : fuzz::story(random), random);
  pristine = kind >= 95;
  if (!pristine && kind >= 20) mutate(image, random);
  return image;
}

/// The single text or number of a query.
std::string answer(Database& database, const char* sql) {
  Expected<Statement> statement = database.prepare(sql);
  if (!statement.ok()) return statement.error().message;
  const Expected<bool> row = statement->step();
  if (!row.ok()) return row.error().message;
  return *row ? std::string(statement->text(0)) : std::string();
}

Outcome check_trace(const std::string& path, bool pristine) {
  Expected<Database> database = open_trace(path);
  if (!database.ok()) return wrong("the trace does not open: " + database.error().message);
  if (const std::string whole = answer(*database, "PRAGMA integrity_check"); whole != "ok") return wrong(whole);
  if (const std::string state = answer(*database, "SELECT value FROM meta WHERE key = 'state'"); state != "finished") {
    return wrong("the trace's state is '" + state + "'");
  }
  for (const char* table :
       {"string", "thread", "frame", "stack", "operator", "block", "storage", "tensor", "mark", "sample", "edge",
        "source", "source_line", "diagnostic", "loss", "release", "allocated", "holder"}) {
    const std::string count = answer(*database, (std::string("SELECT count(*) FROM ") + table).c_str());
    if (count.find_first_not_of("0123456789") != std::string::npos) return wrong(std::string(table) + ": " + count);
  }
  // What a recorder writes its own readers take, however damaged the spool was.
  const auto traces = cli::load_traces({path}, std::nullopt);
  if (!traces.ok()) return wrong("the trace is refused: " + traces.error().message);
  cli::ReportText text(false, cli::Style{});
  const model::Report report = model::report_of(path, traces->front().analysis);
  text.add(report);
  if (text.text().empty() || cli::json_of(report).empty()) return wrong("nothing is reported");
  if (pristine) {
    const std::string missing = answer(
        *database,
        "SELECT (SELECT value FROM meta WHERE key = 'last_seq') - (SELECT value FROM meta WHERE key = 'records')");
    if (missing != "0") return wrong("an unharmed spool lost " + missing + " records");
  }
  return Outcome::kDone;
}

Outcome run(std::uint64_t seed, const std::string& folder) {
  fuzz::Random random(seed);
  bool pristine = false;
  const std::string image = make_image(random, pristine);
  const std::string spool = folder + "/spool";
  const std::string trace = folder + "/trace.dcmt";
  SpoolFile file(spool, image);

  auto recorder = ProcessRecorder::start(spool, trace, {{"fuzz"}, {}});
  if (!recorder.ok()) {
    const std::string& message = recorder.error().message;
    if (pristine || message.empty() || message.find('\n') != std::string::npos) {
      return wrong("refused with: '" + message + "'");
    }
    return Outcome::kRefused;
  }
  for (std::uint64_t i = 0, polls = random.below(4); i < polls; ++i) {
    const Expected<std::size_t> drained = (*recorder)->poll();
    if (!drained.ok()) return wrong("poll: " + drained.error().message);
    if (!pristine && random.chance(50)) file.change(random);
    if (!pristine && random.chance(10)) file.cut(random);
  }
  if (random.chance(25)) {
    // The recorder is killed here and a later report goes on.
    recorder->reset();
    recorder = ProcessRecorder::resume(spool, trace, {{"fuzz"}, {}});
    if (!recorder.ok()) {
      // What is left of the spool may be refused by then.
      return pristine ? wrong("resume: " + recorder.error().message) : Outcome::kRefused;
    }
  }
  if (const Status done = (*recorder)->finish("unknown", "finished"); !done.ok()) {
    return wrong("finish: " + done.error().message);
  }
  recorder->reset();
  return check_trace(trace, pristine);
}

}  // namespace

int main(int argc, char** argv) { return fuzz::fuzz_main(argc, argv, "recorded", run); }
