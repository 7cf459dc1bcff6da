#include "analyzer/rules/identity.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "analyzer/storages/stacks.h"
#include "analyzer/storages/without_numbers.h"
#include "analyzer/time/timeline.h"
#include "trace/base/code_path.h"

namespace dcmt::analyzer {
namespace {

constexpr std::string_view kAny = "[*]";

using Texts = std::set<std::string>;

std::string joined(const Texts& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

std::string function_text(const TraceData& data, StringId function, StringId file) {
  return without_numbers(data.text(function)) + " (" + portable_name(data, file) + ")";
}

/// The innermost function that a person wrote. Names of compiled code are the same everywhere.
std::string place_text(const TraceData& data, StackId stack) {
  const Frame* place = data.frames.find(site_of(data, stack));
  if (place == nullptr) return "no Python";
  for (const Stack* at = data.stacks.find(stack); at != nullptr; at = data.stacks.find(at->parent)) {
    const Frame* frame = data.frames.find(at->frame);
    if (frame == nullptr || is_library_file(data.text(frame->file)) || is_generated_file(data, frame->file)) continue;
    place = frame;
    break;
  }
  return function_text(data, place->function, place->file);
}

/// Marks of one part of the identity: their names and their callers.
struct PlaceNames {
  Texts names, functions;

  void add(const TraceData& data, const Mark* mark) {
    if (mark == nullptr) return;
    names.insert(without_numbers(data.text(mark->name)));
    functions.insert(place_text(data, mark->by.stack));
  }
  [[nodiscard]] std::string text(std::string_view verb) const {
    if (functions.empty()) return {};
    return std::string(verb) + joined(names) + " in " +
           (functions.size() == 1 ? *functions.begin() : std::string(kAny));
  }
};

struct PlacesOfFinding {
  PlaceNames born, released, read;
};

PlacesOfFinding places_of(const TraceData& data, const Finding& finding) {
  PlacesOfFinding places;
  for (const OomVerdict& verdict : finding.out_of_memory) {
    const Operator* asked = named_operator(data, verdict.oom->by.op);
    places.born.names.insert(asked != nullptr ? std::string(data.text(asked->name)) : "no operator");
    places.born.functions.insert(place_text(data, verdict.oom->by.stack));
  }
  if (finding.growth) {
    places.born.names.insert(without_numbers(finding.growth->holder));
    places.born.functions.insert(place_text(data, finding.growth->sites.front().stack));
  }
  if (finding.duplicate) {
    places.born.names.insert("copies");
    places.born.functions.insert(place_text(data, finding.duplicate->stack));
  }
  if (finding.in_flight) {
    places.born.names.emplace(finding.in_flight->missing);
    places.born.functions.insert(place_text(data, finding.in_flight->born));
    places.released.names.emplace("used");
    places.released.functions.insert(place_text(data, finding.in_flight->misused));
  }
  if (finding.outside) {
    places.born.names.emplace(finding.outside->kind);
    places.born.functions.insert("no storage of torch");
  }
  if (finding.objects) {
    places.born.names.insert(without_numbers(finding.objects->holder));
    places.born.functions.insert("no storage of torch");
  }
  if (finding.forked) {
    places.born.names.insert(without_numbers(finding.forked->holder));
    places.born.functions.insert("forked children");
  }
  if (finding.native) {
    places.born.names.insert(finding.native->place.function);
    places.born.functions.insert("no storage of torch");
  }
  if (!finding.out_of_memory.empty()) return places;  // the items are what was held then, which differs from run to run
  for (const FindingItem& item : finding.items) {
    places.born.add(data, item.gather);
    places.released.add(data, item.release);
    if (!item.reads.empty()) places.read.add(data, item.reads.front());
  }
  return places;
}

void add(PlaceNames& all, const PlaceNames& more) {
  all.functions.insert(more.functions.begin(), more.functions.end());
}

std::optional<std::string> holder_text(const TraceData& data, const Finding& finding) {
  if (finding.growth && finding.growth->holder == kHeldByCpp) return std::nullopt;
  if (finding.growth && !finding.growth->holder.empty()) return without_numbers(finding.growth->holder);
  if (finding.outside && finding.outside->holder) return without_numbers(*finding.outside->holder);
  if (finding.objects) return without_numbers(finding.objects->holder);
  if (finding.forked) return without_numbers(finding.forked->holder);
  if (!finding.out_of_memory.empty() || !finding.holders || !finding.holders->certain()) return std::nullopt;
  if (finding.holders->paths.empty()) return std::nullopt;
  const HolderPath& path = finding.holders->paths.front();
  return function_text(data, path.function_id, path.file_id);
}

}  // namespace

void identify(const TraceData& data, std::vector<Finding>& findings) {
  using Names = std::tuple<std::string, std::string, std::string, std::string, Texts>;
  std::map<Names, PlacesOfFinding> alike;
  std::vector<std::pair<PlacesOfFinding, Names>> all;
  for (const Finding& finding : findings) {
    PlacesOfFinding own = places_of(data, finding);
    Names names{finding.rule, joined(own.born.names), joined(own.released.names), joined(own.read.names),
                Texts(finding.origins.begin(), finding.origins.end())};
    PlacesOfFinding& shared = alike[names];
    // Errors and reads have places of their own, which their rules use to distinguish them.
    if (finding.rule == "residual") {
      add(shared.born, own.born);
      add(shared.released, own.released);
    }
    all.emplace_back(std::move(own), std::move(names));
  }
  for (std::size_t i = 0; i < findings.size(); ++i) {
    auto& [own, names] = all[i];
    const PlacesOfFinding& shared = alike[names];
    add(own.born, shared.born);
    add(own.released, shared.released);
    FindingIdentity& identity = findings[i].identity;
    identity.rule = findings[i].rule;
    identity.born = own.born.text("");
    identity.released = own.released.text("");
    if (const std::string read = own.read.text("read by "); !read.empty()) identity.released += ", " + read;
    identity.holder = holder_text(data, findings[i]);
  }
}

}  // namespace dcmt::analyzer
