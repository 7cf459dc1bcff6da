#include "cli/check_reports.h"
#include "cli/json_values.h"

namespace dcmt::cli {
namespace {

/// The identity of a defect, independent of line numbers.
constexpr char kFingerprint[] = "dcMemtraceFact/v1";

/// A path as a URI.
std::string uri_of(const std::string& file) {
  std::string uri = file.starts_with('/') ? "file://" : "";
  for (const char c : file) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' ||
                       c == '.' || c == '-' || c == '_' || c == '~';
    constexpr char kDigits[] = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    uri += plain ? std::string(1, c) : std::string{'%', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return uri;
}

Json result_of(const Checked& checked, const Problem& problem) {
  Json result;
  result["ruleId"] = problem.name == "recording" ? "no-verdict" : "memory-fact";
  result["level"] = checked.only_warns() ? "warning" : "error";
  result["message"]["text"] = checked.verdict.baseline + ": " + problem.text;
  result["partialFingerprints"][kFingerprint] = checked.verdict.baseline + "/" + problem.name;
  // A problem without a line of the program is located in its baseline.
  const std::string file = problem.file.empty() ? path_from_here(checked.verdict.baseline) : problem.file;
  Json location;
  location["physicalLocation"]["artifactLocation"]["uri"] = uri_of(file);
  location["physicalLocation"]["region"]["startLine"] = problem.line > 0 ? problem.line : 1;
  result["locations"] = Json::array({location});
  return result;
}

}  // namespace

std::string sarif_text(const std::vector<Checked>& checks, const std::string& version) {
  Json driver;
  driver["name"] = "dc-memtrace";
  driver["version"] = version;
  for (const auto& [id, text] : {std::pair("memory-fact", "Memory differs from the baseline of its workload"),
                                 std::pair("no-verdict", "Memory could not be compared with its baseline")}) {
    Json rule;
    rule["id"] = id;
    rule["shortDescription"]["text"] = text;
    driver["rules"].push_back(rule);
  }
  Json run;
  run["tool"]["driver"] = driver;
  run["columnKind"] = "utf16CodeUnits";
  run["results"] = Json::array();
  for (const Checked& checked : checks) {
    for (const Problem& problem : problems_of(checked)) run["results"].push_back(result_of(checked, problem));
  }
  Json document;
  document["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
  document["version"] = "2.1.0";
  document["runs"] = Json::array({run});
  return printed(document) + "\n";
}

}  // namespace dcmt::cli
