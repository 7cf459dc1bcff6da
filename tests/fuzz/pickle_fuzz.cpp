// Hands the reader of torch's memory snapshots pickles that no torch would leave: snapshots with values of any kind in
// any place, damaged bytes, random opcodes, shared lists. See harness.h for the command line. A pickle may be refused
// with one line; otherwise its report is printed, and what other formats say of it.
#include <exception>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "analyzer/model/report.h"
#include "cli/inputs.h"
#include "cli/json_writer.h"
#include "cli/report_text.h"
#include "convert/perfetto/perfetto.h"
#include "convert/pickle/writer.h"
#include "convert/snapshot/write_snapshot.h"
#include "convert/tables/csv.h"
#include "tests/fuzz/harness.h"
#include "tests/fuzz/random.h"

namespace {

using namespace dcmt;  // NOLINT(google-build-using-namespace)
using convert::PickleWriter;
using fuzz::Outcome;
using fuzz::wrong;

/// Writes a snapshot, and now and then something else where a value belongs.
class Snapshot {
 public:
  Snapshot(std::ostream& out, fuzz::Random& random, unsigned odd) : out_(out), random_(random), odd_(odd) {}

  void write() {
    out_.begin_dict();
    key("segments");
    list(6, [this] { segment(); });
    key("device_traces");
    list(3, [this] { list(40, [this] { entry(); }); });
    key("external_annotations");
    list(6, [this] { annotation(); });
    out_.end_dict();
    out_.end();
  }

 private:
  template <class Write>
  void list(std::uint64_t most, const Write& write) {
    if (odd()) return;
    out_.begin_list();
    for (std::uint64_t i = random_.below(most + 1); i > 0; --i) {
      write();
      out_.append();
    }
    if (random_.chance(30)) lists_.push_back(out_.remember());
  }
  /// True if something else was written.
  bool odd() {
    if (!random_.chance(odd_)) return false;
    switch (random_.below(4)) {
      case 0:
        out_.integer(static_cast<std::int64_t>(random_.interesting()));
        break;
      case 1:
        out_.text_once("text\n\x1b[2J\xff");
        break;
      case 2:
        if (!lists_.empty()) {
          out_.refer(random_.pick(lists_));
          break;
        }
        [[fallthrough]];
      default:
        out_.boolean(true);
    }
    return true;
  }
  void key(const char* name) { out_.key(random_.chance(odd_ / 2) ? "other" : name); }
  void number(const char* name, std::int64_t value) {
    key(name);
    if (!odd()) out_.integer(random_.chance(odd_) ? static_cast<std::int64_t>(random_.interesting()) : value);
  }
  void text(const char* name, const std::string& value) {
    key(name);
    if (!odd()) out_.text(value);
  }
  void frames() {
    key("frames");
    list(4, [this] {
      out_.begin_dict();
      text("name", "f" + std::to_string(random_.below(5)));
      text("filename", random_.chance(70) ? "/home/user/train.py" : "??");
      number("line", static_cast<std::int64_t>(random_.below(100)));
      out_.end_dict();
    });
  }
  std::int64_t address() { return static_cast<std::int64_t>(4096 * (1 + random_.below(12))); }
  void entry() {
    static const std::vector<std::string> kActions = {
        "alloc",       "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free",
        "segment_map", "oom",   "snapshot",       "nothing"};
    out_.begin_dict();
    text("action", random_.pick(kActions));
    number("addr", address());
    number("size", static_cast<std::int64_t>(random_.below(1 << 20)));
    number("stream", static_cast<std::int64_t>(random_.below(3)));
    number("time_us", static_cast<std::int64_t>(1'700'000'000'000'000 + random_.below(1000)));
    frames();
    out_.end_dict();
  }
  void segment() {
    out_.begin_dict();
    number("device", static_cast<std::int64_t>(random_.below(3)));
    number("address", address());
    number("total_size", 1 << 21);
    number("stream", 0);
    key("blocks");
    list(4, [this] {
      static const std::vector<std::string> kStates = {"active_allocated", "active_pending_free", "inactive"};
      out_.begin_dict();
      number("address", address());
      number("size", 4096);
      number("requested_size", 4000);
      text("state", random_.pick(kStates));
      frames();
      out_.end_dict();
    });
    out_.end_dict();
  }
  void annotation() {
    out_.begin_dict();
    text("stage", random_.chance(50) ? "START" : "END");
    text("name", random_.chance(50) ? "ProfilerStep#" + std::to_string(random_.below(3)) : "forward");
    number("time_us", static_cast<std::int64_t>(1'700'000'000'000'000 + random_.below(1000)));
    out_.end_dict();
  }

  PickleWriter out_;
  fuzz::Random& random_;
  unsigned odd_;  ///< percent
  std::vector<std::uint32_t> lists_;
};

std::string damaged(std::string bytes, fuzz::Random& random) {
  static const std::string kOpcodes =
      "\x80\x95\x94()]}.NJKMGXB0aestuhjqrdl12\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x8e\x93Rbc";
  for (std::uint64_t i = random.below(8); i > 0 && !bytes.empty(); --i) {
    const std::size_t at = random.below(bytes.size());
    switch (random.below(5)) {
      case 0:
        bytes[at] = static_cast<char>(random.bits());
        break;
      case 1:
        bytes[at] = kOpcodes[random.below(kOpcodes.size())];
        break;
      case 2:
        bytes.insert(at, 1, kOpcodes[random.below(kOpcodes.size())]);
        break;
      case 3:
        bytes.erase(at, 1 + random.below(16));
        break;
      default:
        bytes.insert(at, bytes.substr(random.below(bytes.size()), random.below(200)));
    }
  }
  if (random.chance(10)) bytes.resize(random.below(bytes.size() + 1));
  return bytes;
}

Outcome run(std::uint64_t seed, const std::string& folder) {
  fuzz::Random random(seed);
  const bool pristine = random.chance(10);
  std::ostringstream snapshot;
  Snapshot(snapshot, random, pristine || random.chance(40) ? 0 : static_cast<unsigned>(random.below(8))).write();
  std::string bytes = snapshot.str();
  if (!pristine && random.chance(60)) bytes = damaged(std::move(bytes), random);
  const std::string path = folder + "/s.pickle";
  std::ofstream(path, std::ios::binary) << bytes;

  auto traces = cli::load_traces({path}, std::nullopt);
  if (!traces.ok()) {
    const std::string& message = traces.error().message;
    if (pristine || message.empty() || message.find('\n') != std::string::npos) {
      return wrong("refused with: '" + message + "'");
    }
    return Outcome::kRefused;
  }
  const cli::LoadedTrace& trace = traces->front();
  const model::Report report = model::report_of(trace.path, trace.analysis);
  cli::ReportText text(false, cli::Style{});
  text.add(report);
  std::ostringstream out;
  out << text.text() << cli::json_of(report);
  auto opened = cli::open_traces({path}, std::nullopt);
  if (!opened.ok()) return wrong("not opened again: " + opened.error().message);
  for (const Status& written :
       {convert::write_snapshot(*trace.data, out), convert::write_lifetimes_csv(*trace.data, out),
        convert::write_curve_csv(*trace.data, out),
        convert::write_perfetto(*trace.data, opened->front().database, out)}) {
    if (!written.ok()) return wrong("not written: " + written.error().message);
  }
  return out ? Outcome::kDone : wrong("nothing was written");
}

}  // namespace

int main(int argc, char** argv) { return fuzz::fuzz_main(argc, argv, "shown", run); }
