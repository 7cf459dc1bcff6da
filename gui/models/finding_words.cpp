// Texts of a finding in the panel of the selection, by the finding's kind.
#include <string>

#include "analyzer/model/quantities.h"
#include "gui/models/fact_rows.h"
#include "gui/models/words.h"
#include "trace/base/shell_words.h"

namespace dcmt::gui::words {
namespace {

using Rows = std::vector<TableModel::Row>;

QString percent(double share) { return QString::number(100 * share, 'f', 1) + QStringLiteral(" %"); }

QString times_of(TimeNs shortest, TimeNs longest) {
  return shortest == longest ? time(longest.value)
                             : time(shortest.value) + QStringLiteral(" to ") + time(longest.value);
}

/// Adds a row for each of the first elements of a list, and the number of the others.
template <class List, class Describe>
void add_list(Rows& rows, const char* label, const List& list, const Describe& describe) {
  for (std::size_t i = 0; i < list.size() && i < kMostFacts; ++i) add(rows, label, describe(list[i]));
  if (list.size() > kMostFacts) add(rows, label, QStringLiteral("and %1 more").arg(list.size() - kMostFacts));
}

void add_holder(Rows& rows, std::string_view path, const std::optional<std::string_view>& at,
                const std::optional<std::string_view>& type) {
  add(rows, "held by", text(path) + (at ? QStringLiteral("   ") + text(*at) : QString()));
  if (type) add(rows, "which is a", text(*type));
}

void add_growth(Rows& rows, const model::Growth& growth) {
  add_holder(rows, growth.holder, growth.place, growth.type);
  // Found by text: a single statement is probably the right one; of several, nothing shows which one it was.
  add_list(
      rows, growth.stored_by.size() == 1 ? "added at" : "added at one of", growth.stored_by,
      [](const model::StoringStatement& each) { return text(each.site) + QStringLiteral("   ") + text(each.text); });
  for (std::size_t i = 0; i < growth.sites.size() && i < kMostFacts; ++i) {
    const model::GrowthSite& each = growth.sites[i];
    add(rows, "made at",
        text(each.called_from.value_or(each.site)) +
            QStringLiteral("   %1, %2").arg(text(model::counted(each.storages, "storage")), bytes(each.bytes.value)));
    if (each.called_from) add(rows, "", QStringLiteral("in ") + text(each.site));
  }
  if (growth.sites.size() > kMostFacts)
    add(rows, "made at", QStringLiteral("and %1 more").arg(growth.sites.size() - kMostFacts));
  if (growth.steps > 0) {
    add(rows, "grows",
        QStringLiteral("in %1, %2 more each")
            .arg(text(model::counted(growth.steps, growth.unit)),
                 exact_bytes(growth.per_step.value)));
  }
  add(rows, "storages",
      growth.seen == growth.storages
          ? number(growth.storages)
          : QStringLiteral("%1, of which %2 were found there").arg(number(growth.storages), number(growth.seen)));
  add(rows, "alone", exact_bytes(growth.alone.value) + QStringLiteral(" are freed if only this is emptied"));
}

void add_outside(Rows& rows, const model::OutsideGrowth& growth) {
  add(rows, "grows", text(growth.kind) + QStringLiteral(", which is not torch's"));
  add(rows, "a step", exact_bytes(growth.per_step.value));
  if (growth.holder) {
    add_holder(rows, *growth.holder, growth.place, growth.type);
    add(rows, "arrays",
        QStringLiteral("%1, %2").arg(number(growth.arrays.value_or(0)), exact_bytes(growth.after.value)));
    return;
  }
  if (growth.file) add(rows, "file", text(*growth.file));
  add(rows, "grew",
      QStringLiteral("from %1 to %2 in %3")
          .arg(exact_bytes(growth.before.value), exact_bytes(growth.after.value),
               text(model::counted(growth.steps, "step"))));
}

QString where_of(std::string_view device, const std::optional<std::int64_t>& step,
                 const std::optional<std::string_view>& phase) {
  return text(device) + (step ? QStringLiteral(" · step %1").arg(*step) : QString()) +
         (phase ? QStringLiteral(" · ") + text(*phase) : QString());
}

void add_error(Rows& rows, const model::Finding& finding) {
  const model::OutOfMemory& error = finding.out_of_memory.front();
  add(rows, "at", where_of(error.device, error.step, error.phase));
  if (finding.out_of_memory.size() > 1)
    add(rows, "times", number(static_cast<std::int64_t>(finding.out_of_memory.size())));
  add(rows, "asked for", exact_bytes(error.requested.value));
  add(rows, "by", place(error.by));
  add(rows, "allocated", exact_bytes(error.allocated.value));
  if (error.reserved) add(rows, "reserved", exact_bytes(error.reserved->value));
  if (error.free && error.total)
    add(rows, "free", QStringLiteral("%1 of %2").arg(exact_bytes(error.free->value), exact_bytes(error.total->value)));
  add(rows, "missing", exact_bytes(error.missing.value));
  if (error.dead.value > 0) {
    add(rows, "dead but held", exact_bytes(error.dead.value));
    add(rows, "without it",
        QStringLiteral("%1 allocated: the request %2")
            .arg(exact_bytes(error.without_dead.value),
                 error.fits_without_dead ? QStringLiteral("fits") : QStringLiteral("still does not fit")));
  }
  add(rows, "after it",
      finding.memory_ran_out->all_went_on ? QStringLiteral("the program went on")
                                          : QStringLiteral("nothing more ran on that thread"));
}

QString stream_name(const std::optional<std::int32_t>& stream) {
  if (stream == 0) return QStringLiteral("the default stream");
  return stream.value_or(-1) > 0 ? QStringLiteral("stream %1").arg(*stream)
                                 : QStringLiteral("a stream that is not known");
}

void add_waits(Rows& rows, const model::Waits& waits) {
  add(rows, "at", where_of(waits.device, waits.step, waits.phase));
  add(rows, "waited",
      QStringLiteral("%1 in %2, %3 of the %4 active then")
          .arg(exact_bytes(waits.waiting.value), text(model::counted(waits.blocks, "block")),
               percent(waits.waiting_share), exact_bytes(waits.active.value)));
  add(rows, "for", times_of(waits.median, waits.longest));
  add(rows, "without it", QStringLiteral("at most %1 active").arg(exact_bytes(waits.without_waits.value)));
  add(rows, "waiting at once", exact_bytes(waits.most_waiting.value) + QStringLiteral(" at most"));
  add_list(rows, "allocated", waits.sites, [](const model::WaitingSite& each) {
    return QStringLiteral("%1 in %2 on %3 from %4")
        .arg(bytes(each.bytes.value), text(model::counted(each.blocks, "block")), stream_name(each.stream),
             text(each.site));
  });
  add(rows, "seen",
      QStringLiteral("%1 of %2 freed blocks had to wait").arg(number(waits.frees_that_waited), number(waits.frees)));
}

void add_pools(Rows& rows, const model::Pools& pools) {
  add(rows, "at", text(pools.device));
  add(rows, "reserved", exact_bytes(pools.reserved.value) + QStringLiteral(" at most"));
  add(rows, "active", exact_bytes(pools.active.value) + QStringLiteral(" at most"));
  add(rows, "never in use", QStringLiteral("%1, %2").arg(exact_bytes(pools.idle.value), percent(pools.idle_share)));
  if (pools.streams.size() > 1) {
    add(rows, "by streams", exact_bytes(pools.by_streams.value) + QStringLiteral(", as each has its own peak"));
    add_list(rows, "", pools.streams, [](const model::StreamPool& each) {
      return stream_name(each.stream) + QStringLiteral(": ") + exact_bytes(each.peak.value);
    });
  }
  add(rows, "the rest", exact_bytes(pools.rest.value) + QStringLiteral(", rounding and fragmentation"));
  add_list(rows, "alternates", pools.sites, [](const model::PoolSite& each) {
    return QStringLiteral("%1 on %2 from %3")
        .arg(bytes(each.bytes.value), text(model::counted(each.streams, "stream")), text(each.site));
  });
}

/// A row for each graph: the names of its parameters, or their numbers if some have no name.
void add_names(Rows& rows, const model::Finding& finding) {
  for (const model::ParametersOfGraph& graph : finding.parameters) {
    const bool named = !graph.names.empty();
    const std::size_t count = named ? graph.names.size() : graph.keys.size();
    QStringList some;
    for (std::size_t i = 0; i < count && i < kMostFacts; ++i)
      some.append(named ? text(graph.names[i]) : QString::number(graph.keys[i]));
    QString all = (named ? QString() : QStringLiteral("id ")) + some.join(QStringLiteral(", "));
    if (count > kMostFacts) all += QStringLiteral(" and %1 more").arg(count - kMostFacts);
    if (!graph.graph_name.empty()) all += QStringLiteral(" of ") + text(graph.graph_name);
    add(rows, "parameters", all);
  }
}

/// For gathered parameters: which ones, in which steps, and who gathered, released and read them.
void add_parameters(Rows& rows, const model::Finding& finding) {
  add_names(rows, finding);
  if (const auto& steps = finding.steps; steps.size() == 1)
    add(rows, "in", QStringLiteral("step %1").arg(steps.front()));
  else if (!steps.empty())
    add(rows, "in",
        QStringLiteral("%1 steps, the first %2, the last %3").arg(steps.size()).arg(steps.front()).arg(steps.back()));
  const model::FindingItem first = finding.items.front();
  const auto at = [](const model::Mark& mark) {
    return text(mark.name.value_or("")) +
           (mark.by.stack.empty() ? QString() : QStringLiteral("   ") + site(mark.by.site));
  };
  if (finding.rule != "residual") {
    if (const auto gather = first.gather()) add(rows, "gathered", at(*gather));
  }
  if (const auto release = first.release()) add(rows, "released", at(*release));
  if (finding.rule == "never_released" && !first.release()) add(rows, "released", QStringLiteral("never"));
  if (const std::vector<model::Read> reads = first.reads(); !reads.empty()) {
    add(rows, "first read", text(reads.front().name.value_or("")) + QStringLiteral("   ") + place(reads.front().by));
  }
  if (finding.only_tensor_cleared)
    add(rows, "emptied", QStringLiteral("only the registered tensor; the shared storage kept its bytes"));
  if (finding.trial) add(rows, "origin", QStringLiteral("what tries the program out: it is not the training"));
}

void add_end(Rows& rows, const model::Finding& finding) {
  if (finding.censuses > 1) {
    add(rows, "",
        QStringLiteral("over %1 releases: %2 explained + %3")
            .arg(number(finding.censuses), number(finding.explained), number(finding.unexplained)));
  }
  if (finding.more_alike > 0) add(rows, "alike", QStringLiteral("%1 more").arg(number(finding.more_alike)));
  if (finding.held_for) {
    add(rows, "held for",
        times_of(finding.held_for->shortest, finding.held_for->longest) + QStringLiteral(" after the release"));
  }
  if (finding.not_freed > 0) {
    add(rows, finding.held_for ? "" : "held for",
        QStringLiteral("%1 not freed to the end of the trace").arg(number(finding.not_freed)));
  }
  add(rows, "reads after",
      QStringLiteral("%1 by operators, %2 by kernels").arg(number(finding.reads), number(finding.kernel_reads)));
}

QString command_of(const model::Finding& finding, const model::Report& report) {
  const QString path = text(shell_word(report.path));
  if (finding.outside) return QStringLiteral("dc-memtrace show memory %1").arg(path);
  return QStringLiteral("dc-memtrace show holders %1 finding:%2").arg(path, QString::number(finding.number));
}

}  // namespace

std::vector<TableModel::Row> facts(const model::Finding& finding, const model::Report& report) {
  Rows rows;
  add(rows, "finding", title(finding));
  add(rows, "bytes", exact_bytes(finding.bytes.value));
  if (finding.dead_at_peak.value > 0) add(rows, "dead at the peak", exact_bytes(finding.dead_at_peak.value));
  if (finding.predicted_peak) add(rows, "peak without it", exact_bytes(finding.predicted_peak->value));
  const bool of_parameters = !finding.parameters.empty() && !finding.items.empty();
  if (finding.growth) add_growth(rows, *finding.growth);
  if (finding.outside) add_outside(rows, *finding.outside);
  if (finding.memory_ran_out) add_error(rows, finding);
  if (finding.waits) add_waits(rows, *finding.waits);
  if (finding.pools) add_pools(rows, *finding.pools);
  if (of_parameters) add_parameters(rows, finding);
  if (finding.holders) add_holders(rows, *finding.holders);
  if (finding.rule == "residual" && !finding.holders)
    add(rows, "held by", QStringLiteral("not known: no references were counted at these releases"));
  add(rows, "because", text(finding.why));
  if (of_parameters) add_end(rows, finding);
  add(rows, "confidence", text(name_of(finding.confidence)));
  add(rows, "fix", text(finding.fix));
  add(rows, "command", command_of(finding, report));
  return rows;
}

}  // namespace dcmt::gui::words
