#include <algorithm>
#include <string>

#include "analyzer/rules/grouped.h"
#include "analyzer/rules/rules.h"
#include "analyzer/storages/origins.h"
#include "analyzer/storages/stacks.h"

namespace dcmt::analyzer::rules {
namespace {

struct EarlyReadKey {
  std::string origin;
  bool tried;  ///< all reads are trials of the program
  StringId device, reader, release_operator;
  FrameId reader_site, release_site;
  friend auto operator<=>(const EarlyReadKey&, const EarlyReadKey&) = default;  // NOLINT(modernize-use-nullptr)
};

const Mark* first_read(const ReleaseRow& row) {
  return *std::min_element(row.reads().begin(), row.reads().end(),
                           [](const Mark* a, const Mark* b) { return a->span.from_seq < b->span.from_seq; });
}

FindingItem early_item(const ReleaseRow& row) {
  const Mark* read = first_read(row);
  FindingItem item = item_of_release(row);
  item.bytes = read->bytes.value_or(Bytes(0));
  item.until = read->span.from_seq;
  item.until_ns = read->span.from_ns;
  item.reads.assign(row.reads().begin(), row.reads().end());
  // A kernel is known to receive an address, not to use it.
  const bool by_operator =
      std::any_of(item.reads.begin(), item.reads.end(), [](const Mark* one) { return !one->flags.kernel; });
  item.confidence = by_operator ? Confidence::kCertain : Confidence::kPartial;
  std::sort(item.reads.begin(), item.reads.end(),
            [](const Mark* a, const Mark* b) { return a->span.from_seq < b->span.from_seq; });
  return item;
}

}  // namespace

std::vector<Finding> use_after_release(const TraceData& data, const Releases& releases) {
  Grouped<EarlyReadKey> groups;
  Origins origins(data);
  for (const ReleaseRow& row : releases.rows) {
    if (row.verdict != Verdict::kEarly) continue;
    const Mark* read = first_read(row);
    const EarlyReadKey key{
        row.gather != nullptr ? origins.of(*row.gather) : "",
        std::all_of(row.reads().begin(), row.reads().end(), [&](const Mark* one) { return origins.is_trial(*one); }),
        device_of(data, row.mark->storage),
        read->name,
        row.mark->name,
        site_of(data, read->by.stack),
        site_of(data, row.mark->by.stack)};
    groups.add(key, early_item(row));
  }
  return groups.extract([&](const EarlyReadKey& /*key*/, Finding& finding) {
    finding.rule = "use_after_release";
    finding.title = "use after release";
    finding.classes.emplace_back("D24");
    complete_from_items(data, finding);
    finding.confidence = finding.reads > 0 ? Confidence::kCertain : Confidence::kPartial;
    const bool empty = std::any_of(finding.items.begin(), finding.items.end(),
                                   [](const FindingItem& item) { return item.bytes.value == 0; });
    finding.why = finding.reads == 0
                      ? "a kernel gets an address in the parameter's storage after its final release; something else "
                        "still kept the data"
                  : empty
                      ? "an operator reads the parameter after its final release, when its data was gone"
                      : "an operator reads the parameter after its final release; something else still kept the data";
    finding.fix = "release after the last use, backward included, or gather again before it";
  });
}

}  // namespace dcmt::analyzer::rules
