#include "cli/peak_text.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "render/wording/growth_parts.h"

namespace dcmt::cli {
namespace {

using model::DevicePeak;
using model::kMostAlone;

std::string peak_row(std::string_view label, Bytes bytes, std::string_view rest, const Style& style) {
  return left(label, 16) + right(style.bytes(bytes), style.exact ? 16 : 10) + "   " + std::string(rest) + "\n";
}

std::string and_reserved(const std::optional<Bytes>& reserved, const Style& style) {
  return reserved ? fmt::format(", and {} reserved", style.bytes(*reserved)) : std::string();
}

/// The peak without each of several findings alone, and what is freed only if several of them are fixed together.
std::string alone_lines(const DevicePeak& peak, const Style& style) {
  std::string text;
  for (std::size_t i = 0; i < peak.alone.size() && i < kMostAlone; ++i) {
    const model::PeakWithout& alone = peak.alone[i];
    text += peak_row(
        "", alone.peak,
        fmt::format("          without finding {} alone{}", alone.finding, and_reserved(alone.reserved, style)), style);
  }
  if (peak.alone.size() > kMostAlone) {
    text += fmt::format("{}and {}: --json\n", left("", 16),
                        counted(static_cast<std::int64_t>(peak.alone.size() - kMostAlone), "more finding"));
  }
  for (const analyzer::SharedBytes& shared : peak.shared) {
    text += fmt::format("  {} share {}, freed only when all of them are fixed\n", findings_name(shared.findings),
                        style.bytes(shared.at_peak));
  }
  return text;
}

}  // namespace

std::string where_of_peak(const DevicePeak& peak) {
  std::vector<std::string> parts{std::string(peak.device.value_or(""))};
  if (peak.step) parts.push_back(fmt::format("step {}", *peak.step));
  if (peak.phase) parts.emplace_back(*peak.phase);
  if (peak.sums_only) parts.emplace_back("rows of that step were not kept");
  if (peak.by_operator) parts.push_back(fmt::format("at {}", *peak.by_operator));
  if (!peak.site.empty()) parts.push_back(peak.site);
  return joined(parts, " · ");
}

/// "at most, ", before what the prediction leaves out.
std::string bound_of(const DevicePeak& peak) {
  const std::string_view bound = wording::bound_text(peak.predicted_as);
  return bound.empty() ? std::string() : std::string(bound.substr(0, bound.size() - 1)) + ", ";
}

std::string peak_lines(const DevicePeak& peak, std::string_view history, const Style& style) {
  if (history == "none") {
    return peak_row("allocated", peak.bytes, std::string(peak.device.value_or("")), style) +
           (peak.reserved_bytes ? peak_row("  reserved", *peak.reserved_bytes, "", style) : "");
  }
  const auto share = [](double of_peak) { return right(percent(of_peak, 1), 7); };
  std::string text =
      peak_row(history == "late" ? "most allocated" : "peak allocated", peak.bytes, where_of_peak(peak), style);
  if (peak.reserved_bytes) {
    text += peak_row(
        "  reserved", *peak.reserved_bytes,
        peak.active_bytes ? fmt::format("at most, and {} active", style.bytes(*peak.active_bytes)) : "at most", style);
  }
  if (peak.dead_bytes.value == 0) return text;
  text += peak_row("  needed", peak.needed_bytes, share(peak.needed_share), style);
  text += peak_row("  dead but held", peak.dead_bytes,
                   style.bad(share(peak.dead_share)) + "   " + findings_name(peak.dead_findings), style);
  text += peak_row("  predicted", peak.predicted_bytes,
                   fmt::format("          {}without {}{}", bound_of(peak), findings_name(peak.without_findings),
                               and_reserved(peak.predicted_reserved_bytes, style)),
                   style);
  return peak.alone.size() > 1 ? text + alone_lines(peak, style) : text;
}

std::string composition_line(const model::LivePeak& peak, const Style& style) {
  if (peak.sums_only) return {};  // the trace does not contain what was alive then
  std::vector<std::string> parts;
  for (const analyzer::Group& group : peak.live.composition()) {
    parts.push_back(fmt::format("{} {}", group.name, style.bytes(group.bytes)));
  }
  return parts.empty() ? std::string() : left("  of it", 16) + joined(parts, " · ") + "\n";
}

}  // namespace dcmt::cli
