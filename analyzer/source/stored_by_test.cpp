#include "analyzer/source/stored_by.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "analyzer/source/putting.h"
#include "analyzer/testing/test_trace.h"

namespace dcmt::analyzer {
namespace {

constexpr std::string_view kStores = R"(import torch
LOG = []                                  # LOG.append(x)

class Probe:
    """self.seen.append(x) is what it does."""
    def __init__(self):
        self.seen = []

    def save(self, module, args, out):
        self.seen.append(out if module else 0)  # kept

def main():
    losses, by_step, queue = [], {}, None
    LOG.append(losses)
    by_step[len("losses.append(")] = losses
    if by_step['x'] == losses: pass
    for step in range(3):
        losses.append(step)

    by_step['a'].extend(losses)

def other(losses):
    losses += [1]
    queue.put(losses)
)";

std::vector<std::string> of(std::string_view holder) {
  std::vector<std::string> lines;
  for (const StoringStatement& each : storing_statements(kStores, "train.py", holder)) {
    lines.push_back(each.site + " " + each.text);
  }
  return lines;
}
using Lines = std::vector<std::string>;

TEST(StoredByTest, AnAttributeOfAnyObject) {
  EXPECT_EQ(of("main: probe.seen"), (Lines{"train.py:10 self.seen.append(out if module else 0)"}));
  EXPECT_EQ(of("main.PROBE.seen"), of("main: probe.seen"));
  EXPECT_EQ(of("Runner.run: self.probe.seen"), of("main: probe.seen"));
}

TEST(StoredByTest, ALocalVariableInItsFunctionOnly) {
  EXPECT_EQ(of("main: losses"), (Lines{"train.py:18 losses.append(step)"}));
  EXPECT_EQ(of("other: losses"), (Lines{"train.py:23 losses += [1]"}));
  EXPECT_EQ(of("Trainer.main: losses"), of("main: losses")) << "a method";
  EXPECT_EQ(of("nobody: losses"), Lines{});
}

TEST(StoredByTest, EntriesAndWhatTheyAre) {
  EXPECT_EQ(of("main: by_step"),
            (Lines{"train.py:15 by_step[len(\"losses.append(\")] = losses", "train.py:20 by_step['a'].extend(losses)"}))
      << "which of the two is not said";
  EXPECT_EQ(of("main: by_step['a']"), of("main: by_step"));
  EXPECT_EQ(of("main: by_step['b']"), (Lines{"train.py:15 by_step[len(\"losses.append(\")] = losses"}))
      << "by_step['a'] is another entry";
  EXPECT_EQ(of("other: queue"), (Lines{"train.py:24 queue.put(losses)"}));
}

TEST(StoredByTest, AModulesVariable) { EXPECT_EQ(of("main.LOG"), (Lines{"train.py:14 LOG.append(losses)"})); }

TEST(StoredByTest, ADefaultIsTheParameters) {
  constexpr std::string_view kSample = R"(@torch.no_grad()
def sample(net, steps: int = max(2, 3),
           path=[], *, seen=[]):
    for _ in range(steps):
        path.append(net())
        seen.append(path[-1])

def other(path=[]):
    path.append(1)
)";
  const auto lines = [&](std::string_view holder) {
    std::vector<std::string> sites;
    for (const StoringStatement& each : storing_statements(kSample, "s.py", holder)) sites.push_back(each.site);
    return sites;
  };
  EXPECT_EQ(lines("main.sample.__wrapped__.__defaults__[1]"), Lines{"s.py:5"});
  EXPECT_EQ(lines("main.other.__defaults__[0]"), Lines{"s.py:9"});
  EXPECT_EQ(lines("main.sample.__defaults__[2]"), Lines{}) << "it is given by its name";
  EXPECT_EQ(lines("main.missing.__defaults__[0]"), Lines{});
}

TEST(StoredByTest, AVariableOfAClosure) {
  EXPECT_EQ(of("main: f.__closure__['queue']"), (Lines{"train.py:24 queue.put(losses)"}));
  EXPECT_EQ(of("main: f.__closure__['queue'][3]"), of("main: f.__closure__['queue']"));
}

TEST(StoredByTest, AVariableThatIsMadeAnewFromItself) {
  constexpr std::string_view code = R"(
head = None
for x in data:
    head = Link(value=x, head=head)
    heads = head
    head = Link(overhead)
    self.log.first = Node(x, self.log.first)
    total = total + x
    rows = torch.cat([rows, x])
    if head == Link(head): pass
)";
  const auto lines = [&](std::string_view holder) {
    std::vector<std::string> texts;
    for (const StoringStatement& each : storing_statements(code, "a.py", holder)) texts.push_back(each.text);
    return texts;
  };
  EXPECT_EQ(lines("program.head.head….value"), (Lines{"head = Link(value=x, head=head)"}));
  EXPECT_EQ(lines("program.log.first.older….value"), (Lines{"self.log.first = Node(x, self.log.first)"}));
  EXPECT_EQ(lines("program.total"), (Lines{"total = total + x"}));
  EXPECT_EQ(lines("program.rows"), (Lines{"rows = torch.cat([rows, x])"}));
  EXPECT_EQ(lines("program.heads"), Lines{});
  EXPECT_TRUE(storing_statements("a = f(); a.b = []\n", "a.py", "program.a").empty()) << "two statements";
}

constexpr std::string_view kOtherNames = R"(
class Probe:
    def record(self, name, value):
        rows = self.samples[name]
        if value is not None:
            rows.append(value)

    def group(self, name, value):
        rows = self.groups.setdefault(name, [])
        rows.append(value)
        first = self.groups[name][0]
        first.append(value)

    def shift(self, value):
        for rows in self.shifted.values():
            rows.append(value)

    def count(self, value):
        rows = len(self.counted)
        rows += value

    def compute(self, key, value):
        slot, key = (self.values, key) if key else ({}, 0)
        slot[key] = value
)";

TEST(StoredByTest, AnEntryByAnotherName) {
  const auto in_file = [](std::string_view holder) {
    std::vector<std::size_t> lines;
    for (const StoringStatement& each : storing_statements(kOtherNames, "probe.py", holder))
      lines.push_back(std::stoul(each.site.substr(each.site.find(':') + 1)));
    return lines;
  };
  EXPECT_EQ(in_file("main: probe.samples['act0']"), std::vector<std::size_t>{6});
  EXPECT_EQ(in_file("main: probe.groups[*]"), std::vector<std::size_t>{10});
  EXPECT_EQ(in_file("main: probe.shifted[*]"), std::vector<std::size_t>{16});
  EXPECT_EQ(in_file("main: probe.shifted['a'] (queue)"), std::vector<std::size_t>{16});
  EXPECT_EQ(in_file("main: probe.values"), std::vector<std::size_t>{24});
  EXPECT_EQ(in_file("main: probe.counted"), std::vector<std::size_t>{});
}

TEST(StoredByTest, AFunctionThatPutsIntoItsArgument) {
  constexpr std::string_view code =
      "heapq.heappush(best, x)\nheappush( best , x)\nheapq.heappush(bests, best)\nf(best)\nheappush(self.best, x)\n";
  const auto statements = storing_statements(code, "a.py", "program.best");
  ASSERT_EQ(statements.size(), 3u);
  EXPECT_EQ(statements[1].text, "heappush( best , x)");
  EXPECT_EQ(statements[2].text, "heappush(self.best, x)");
}

TEST(StoredByTest, TheStatementThatLinksOneObjectOfAChainToTheNext) {
  constexpr std::string_view code = "y = net(x)\ny.previous = self.last\nself.last = y\n";
  const auto statements = storing_statements(code, "a.py", "fit: cell.last.previous…");
  ASSERT_EQ(statements.size(), 1u);
  EXPECT_EQ(statements[0].text, "y.previous = self.last");
}

TEST(StoredByTest, TheVariableOfASuspendedFunction) {
  constexpr std::string_view code = "async def serve():\n  self.rows[k] = x\n  rows[k] = x\n";
  EXPECT_EQ(storing_statements(code, "a.py", "run: main.gi_frame Server.serve (app.py:24): self.rows").front().text,
            "self.rows[k] = x");
  EXPECT_EQ(storing_statements(code, "a.py", "run: main.gi_frame serve (app.py:24): rows").front().text, "rows[k] = x");
}

TEST(StoredByTest, AnEntryOfAnObjectOnThePath) {
  constexpr std::string_view code = "kept = ChainMap({})\nkept[step] = x\nkept.new_child()\nprint(kept)\n";
  const auto uses = calls_on_path(code, "a.py", "program.kept.maps[0]");
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].text, "kept[step] = x");
  EXPECT_EQ(uses[1].text, "kept.new_child()");
}

/// A program whose storages are made at a line of main(), called at the last line.
struct Program {
  Program(std::string_view code, testing::StackOf stack, testing::StackOf second = {}) {
    testing::TestTrace trace;
    for (testing::StackOf* each : {&stack, &second}) {
      if (each->empty()) continue;
      trace.stack = std::move(*each);
      trace.stack.push_back({"train.py", "<module>", std::count(code.begin(), code.end(), '\n')});
      trace.allocate(100);
    }
    data = trace.load();
    for (const Frame& frame : data.frames) {
      if (data.sources.empty() && data.text(frame.file) == "train.py")
        data.sources.push_back({.path = frame.file, .text = std::string(code)});
    }
  }
  Lines lines(const std::vector<StoringStatement> Storing::*part, std::string_view holder,
              std::string_view way = {}) const {
    std::vector<StackId> made_at;
    for (const Storage& each : data.storages) made_at.push_back(each.birth.stack);
    const Storing storing = stored_by(data, holder, made_at, way);
    Lines lines;
    for (const StoringStatement& each : storing.*part) lines.push_back(each.text);
    return lines;
  }
  TraceData data;
};
constexpr auto kStatements = &Storing::statements, kCalls = &Storing::calls;

TEST(StoredByTest, OfSeveralStatementsThoseWithWhatWasMade) {
  const Program program(
      "def main():\n  out = net(x)\n  net.kept = [0]\n  net.kept.append(1)\n  net.kept.append(out)\nmain()\n",
      {{"train.py", "main", 2}});
  EXPECT_EQ(program.lines(kStatements, "main: net.kept"), (Lines{"net.kept.append(out)"}));
  EXPECT_EQ(program.lines(kCalls, "main: net.kept"), Lines{});
}

TEST(StoredByTest, AnAttributeThatACallGivesAnObject) {
  const Program program(
      "def main():\n  opt = Adam(net.parameters())\n  out = net(x)\n  setattr(net, f'cache_{i}', out)\n  "
      "log(out)\nmain()\n",
      {{"train.py", "main", 3}});
  EXPECT_EQ(program.lines(kStatements, "main: net.cache_[*]"), (Lines{"setattr(net, f'cache_{i}', out)"}));
}

TEST(StoredByTest, CallsThatGetWhatWasMadeIfNoStatementNamesTheHolder) {
  const Program program("def main():\n  x = data()\n  out = net(x)\n  logger.info('%s', out.detach())\nmain()\n",
                        {{"train.py", "main", 3}});
  for (const char* holder :
       {"logging.root.handlers[0].buffer", "cycle Knot.me → Knot", "main: sink.gi_frame f: rows"}) {
    EXPECT_EQ(program.lines(kStatements, holder), Lines{}) << holder;
    EXPECT_EQ(program.lines(kCalls, holder), (Lines{"logger.info('%s', out.detach())"})) << holder;
  }
}

TEST(StoredByTest, WhatUsesTheEntriesByAnotherFunctionOrAsADefault) {
  const Program given(
      "def add(rows, x):\n  rows.append(x)\ndef pick(rows):\n  return rows[-1]\ndef main():\n  league = []\n"
      "  add(league, net(x))\n  other(pick(league))\n  print(len(league))\nmain()\n",
      {{"train.py", "main", 7}});
  EXPECT_EQ(given.lines(&Storing::uses, "main: league"), (Lines{"other(pick(league))", "return rows[-1]"}))
      << "what adds to it uses nothing of it";
  const Program by_default("def walk(x, path=[]):\n  path.append(net(x))\n  return path[-1] - path[-2]\nwalk(1)\n",
                           {{"train.py", "walk", 2}});
  EXPECT_EQ(by_default.lines(&Storing::uses, "main.walk.__defaults__[0]"), (Lines{"return path[-1] - path[-2]"}));
}

TEST(StoredByTest, AnotherFileOfTheUsersIfThoseOfTheStacksHaveNoStatement) {
  testing::TestTrace trace;
  trace.stack = {{"train.py", "main", 2}};
  trace.allocate(100);
  trace.stack = {{"probe.py", "load", 1}};
  trace.allocate(200);
  TraceData data = trace.load();
  for (const Frame& frame : data.frames) {
    const bool is_probe = data.text(frame.file) == "probe.py";
    data.sources.push_back({.path = frame.file,
                            .text = is_probe ? "def save(self, x):\n  self.seen.append(x)\n"
                                             : "def main():\n  out = net(x)\n  save(out)\n"});
  }
  const std::vector<StackId> made_at = {data.storages.begin()->birth.stack};
  const Storing storing = stored_by(data, "main: probe.seen", made_at);
  ASSERT_EQ(storing.statements.size(), 1u);
  EXPECT_EQ(storing.statements[0].site, "probe.py:2");
  ASSERT_EQ(storing.calls.size(), 1u);
  EXPECT_EQ(storing.calls[0].site, "train.py:3");
}

TEST(StoredByTest, ACallThatGetsWhatWasComputedSaysNothingOfAParameter) {
  const Program program(
      "class Probe:\n  def __call__(self, m, i, output):\n    self.seen.append(output)\ndef main():\n  out = net(x)\n"
      "  loss = out.mean()\n  accelerator.backward(loss)\nmain()\n",
      {{"train.py", "main", 5}});
  EXPECT_EQ(program.lines(kStatements, "main: probe.seen"), (Lines{"self.seen.append(output)"}));
  EXPECT_EQ(program.lines(kCalls, "main: probe.seen"), Lines{});
}

TEST(StoredByTest, ACallThatMakesItInsideIsNotWhatStoresIt) {
  const std::string_view code =
      "def play():\n  state = ones(9)\n  f(1)\ndef main():\n  agent.play()\n  agent.see(x * 2)\nmain()\n";
  const Program inside(code, {{"train.py", "play", 2}, {"train.py", "main", 5}});
  EXPECT_EQ(inside.lines(kStatements, "main: agent.heap"), Lines{});
  const Program given(code, {{"train.py", "main", 6}});
  EXPECT_EQ(given.lines(kStatements, "main: agent.heap"), (Lines{"agent.see(x * 2)"}));
}

TEST(StoredByTest, ACallThatIsGivenItIsMoreThanOneThatMadeMoreOfItInside) {
  const Program program(
      "def main():\n  net = build(3)\n  net, opt = pool.prepare(net, opt)\n  loss = net(x)\n  pool.backward(loss)\n"
      "  pool.close()\n"
      "main()\n",
      {{"train.py", "main", 2}}, {{"train.py", "main", 5}});
  EXPECT_EQ(program.lines(kStatements, "main: pool._models"), (Lines{"net, opt = pool.prepare(net, opt)"}));
}

TEST(StoredByTest, AFunctionThatKeepsWhatWasMadeAndIsPassedOn) {
  const Program lambda(
      "def main():\n  out = net(x)\n  handle = net[0].weight.register_hook(lambda g, out=out: g * out)\n  "
      "opt.step()\nmain()\n",
      {{"train.py", "main", 2}});
  EXPECT_EQ(lambda.lines(kStatements, "main: opt.param_groups[0]['params'][0]._backward_hooks"),
            (Lines{"handle = net[0].weight.register_hook(lambda g, out=out: g * out)"}));
  const Program function(
      "def main():\n  out = net(x)\n  def report(opt, out=out):\n    return None\n  handle = "
      "opt.register_hook(report)\n  opt.step()\nmain()\n",
      {{"train.py", "main", 2}});
  EXPECT_EQ(function.lines(kStatements, "main: opt._hooks"), (Lines{"handle = opt.register_hook(report)"}));
}

TEST(StoredByTest, ACycleIsMadeByACallOfItsClass) {
  const Program program("class Knot: pass\ndef main():\n  out = net(x)\n  y = Knot(out)\n  log(out)\nmain()\n",
                        {{"train.py", "main", 3}});
  EXPECT_EQ(program.lines(kStatements, "cycle Knot.me → Knot"), (Lines{"y = Knot(out)"}));
}

TEST(StoredByTest, AGradientHasItsGraphFromABackwardThatCreatesIt) {
  const Program program(
      "def inner(net):\n  loss = net(x)\n  loss.mean().backward(create_graph=True)\n  (g,) = grad(loss, x, "
      "create_graph=True)\n"
      "  g.sum().backward()\ndef main():\n  inner(net)\nmain()\n",
      {{"train.py", "inner", 3}, {"train.py", "main", 7}});
  constexpr std::string_view kCycle =
      "cycle AccumulateGrad.variable → CopyBackwards.next_functions[1] → … → AccumulateGrad";
  EXPECT_EQ(program.lines(kStatements, kCycle), (Lines{"loss.mean().backward(create_graph=True)"}));
  EXPECT_EQ(program.lines(kCalls, kCycle), (Lines{"inner(net)"}));
}

TEST(StoredByTest, AnAttributeThatLinksACycleIsGivenWhatWasMade) {
  const Program program(
      "class Through(Function):\n  def forward(ctx, x):\n    y = x * 2\n    ctx.rows = 3\n    if KEEP: ctx.out = y\n"
      "    return y\ndef main():\n  Through.apply(h)\nmain()\n",
      {{"train.py", "forward", 3}, {"train.py", "main", 8}});
  constexpr std::string_view kHolder = "cycle PyNode (ctx) → ThroughBackward.out → PyNode";
  EXPECT_EQ(program.lines(kStatements, kHolder), (Lines{"if KEEP: ctx.out = y"}));
  EXPECT_EQ(program.lines(kCalls, kHolder), (Lines{"Through.apply(h)"}));
}

TEST(StoredByTest, ACycleIsClosedWhereAnObjectGivesItselfToAnother) {
  const Program program(
      "class Stage:\n  def __init__(self, value, previous):\n    self.value, self.previous, self.next = value, "
      "previous, None\n"
      "    if previous: previous.next = self\ndef main():\n  stage = Stage(net(x), stage)\nmain()\n",
      {{"train.py", "main", 6}});
  EXPECT_EQ(program.lines(kStatements, "cycle Stage.next → Stage.previous → Stage"),
            (Lines{"if previous: previous.next = self"}));
  EXPECT_EQ(program.lines(kStatements, "cycle Stage.me → Stage"), (Lines{"stage = Stage(net(x), stage)"}));
}

TEST(StoredByTest, ACallbackThatALibraryKeepsIsPassedToIt) {
  const Program hook(
      "def tap(layer):\n  captured = []\n  def hook(m, i, o):\n    captured.append(o)\n"
      "  def other(m, i, o): return o\n  layer.register(other)\n  handle = layer.register(hook)\n"
      "def main():\n  tap(net)\n  net(x)\nmain()\n",
      {{"train.py", "main", 10}});
  EXPECT_EQ(hook.lines(kStatements, "main: net._hooks", "main: net._hooks[3].__closure__['captured'][0]"),
            (Lines{"handle = layer.register(hook)"}));
  EXPECT_EQ(hook.lines(kStatements, "main: net._hooks"), Lines{}) << "nothing says that it is a function";
  const Program method(
      "class Session:\n  def __init__(self):\n    self.fakes = net(x)\n    weakref.finalize(self, self.close)\n"
      "    weakref.finalize(self, note)\n    self.close()\n  def close(self): pass\n"
      "def note(): pass\ndef main():\n  Session()\nmain()\n",
      {{"train.py", "__init__", 3}, {"train.py", "main", 10}});
  EXPECT_EQ(
      method.lines(kStatements, "weakref.finalize._registry", "weakref.finalize._registry[<f>].func.__self__.fakes"),
      (Lines{"weakref.finalize(self, self.close)"}));
  const Program timer(
      "def expire(row): pass\ndef main():\n  row = net(x)\n  timers[1] = loop.call_later(60, expire, row)\n"
      "  timers[2] = loop.call_later(60, expire, None)\nmain()\n",
      {{"train.py", "main", 3}});
  EXPECT_EQ(timer.lines(kStatements, "run: runner._loop._scheduled", "run: runner._loop._scheduled[2]._args[0]"),
            (Lines{"timers[1] = loop.call_later(60, expire, row)"}));
}

TEST(StoredByTest, AContainerIsFilledByTheFunctionThatItIsPassedTo) {
  const Program program(
      "def note(rows, x):\n  rows = rows[-3:]\n  rows.append(x)\nclass Log:\n  def add(self, x, *, to=None):\n"
      "    self.pass_on(to, x)\n  def pass_on(self, target, x):\n    target[0] = x\n"
      "def main():\n  out = net(x)\n  note(kept, out)\n  log.add(out, to=given)\n  note(len(counted), counted[0])\n"
      "  note(*spread)\nmain()\n",
      {{"train.py", "main", 10}});
  EXPECT_EQ(program.lines(kStatements, "main: kept"), (Lines{"rows.append(x)"})) << "rebinding stores nothing";
  EXPECT_EQ(program.lines(kCalls, "main: kept"), (Lines{"note(kept, out)"}));
  EXPECT_EQ(program.lines(kStatements, "main: given"), (Lines{"target[0] = x"})) << "through two functions";
  EXPECT_EQ(program.lines(kStatements, "main: counted"), Lines{}) << "what is computed from it is something else";
  EXPECT_EQ(program.lines(kStatements, "main: spread"), Lines{}) << "nothing says which parameter has it";
}

TEST(StoredByTest, AVariableWithTheNameOfTheAttributeIsIt) {
  const Program program(
      "class Hub:\n  def publish(self, x):\n    for box in self.boxes.values():\n      box.put(x)\n"
      "def main():\n  out = net(x)\n  hub.publish(out)\n  hub.leave(actor.name)\nmain()\n",
      {{"train.py", "main", 6}});
  EXPECT_EQ(program.lines(kStatements, "main: actor.box (queue)"), (Lines{"box.put(x)"}));
  EXPECT_EQ(program.lines(kCalls, "main: actor.box (queue)"), (Lines{"hub.publish(out)"}));
  EXPECT_NE(program.lines(kStatements, "main: box (queue)"), (Lines{"box.put(x)"})) << "main's own variable";
}

TEST(StoredByTest, AChainOfCallsThatExceptionsEndedIsLinkedByTheExceptions) {
  const Program program(
      "def skip(self, reason):\n  skipped = Skipped(reason).with_traceback(reason.__traceback__)\n"
      "  skipped.__cause__ = self.last\n  self.last = skipped\ndef check(x):\n  raise Rejected\n"
      "def main():\n  x = data()\n  check(x)\nmain()\n",
      {{"train.py", "main", 8}});
  EXPECT_EQ(program.lines(kStatements, "main: guard.last.__cause__….__traceback__.tb_next.tb_frame main (train.py:9)"),
            (Lines{"skipped.__cause__ = self.last"}));
}

TEST(StoredByTest, AMethodThatIsNamedAfterACollectionAddsToIt) {
  const Program program(
      "class Trial:\n  def __init__(self):\n    self.log = getLogger(number)\n    self.log.addHandler(self.best)\n"
      "class Best(Handler):\n  def __init__(self):\n    super().__init__()\n  def emit(self, record):\n"
      "    self.best = record.copy()\ndef main():\n  Trial()\nmain()\n",
      {{"train.py", "emit", 9}, {"train.py", "main", 11}});
  constexpr std::string_view kLoggers = "logging.loggerDict", kState = "['a'].handlers[0].best";
  const std::string way = std::string(kLoggers) + std::string(kState);
  EXPECT_EQ(program.lines(kStatements, kLoggers, way), (Lines{"self.log.addHandler(self.best)"}));
  EXPECT_EQ(program.lines(kCalls, kLoggers, way), Lines{}) << "another class's __init__ is no call of this one";
  EXPECT_EQ(program.lines(kStatements, "logging.loggerDict['a'].handlers[0].best", way), Lines{})
      << "what a handler keeps is not kept by adding the handler";
  const Program stages("def main():\n  for x in data:\n    stages.append(Whiten(x))\n    stages(x)\nmain()\n",
                       {{"train.py", "main", 3}});
  EXPECT_EQ(stages.lines(kStatements, "main: stages._modules"), (Lines{"stages.append(Whiten(x))"}));
  const Program module(
      "def tighten(layer):\n  high = limit(layer)\n  register_parametrization(layer, 'weight', Between(high))\n"
      "def main():\n  tighten(net)\nmain()\n",
      {{"train.py", "tighten", 2}, {"train.py", "main", 5}});
  EXPECT_EQ(module.lines(kStatements, "main: net.parametrizations.weight._modules"),
            (Lines{"register_parametrization(layer, 'weight', Between(high))"}));
}

TEST(StoredByTest, ACoroutineKeepsWhatTheCallThatMadeItGaveIt) {
  const Program program(
      "async def wait(stop, row):\n  await stop.wait()\ndef main():\n  row = net(x)\n"
      "  tasks.add(create_task(wait(stop, row)))\n  print(len(row))\nmain()\n",
      {{"train.py", "main", 4}});
  EXPECT_EQ(program.lines(kStatements, "run: main.gi_frame main (train.py:5): stop._waiters",
                          "run: main.gi_frame main (train.py:5): stop._waiters[0] (callback).__self__ (coroutine)"
                          ".gi_frame wait (train.py:2): row"),
            (Lines{"tasks.add(create_task(wait(stop, row)))"}));
}

TEST(StoredByTest, ALibraryKeepsWhatACallIsGiven) {
  const Program program(
      "def check(p):\n  note(p.grad.norm().item())\n  warnings.warn(Spike(p.grad.clone()))\ndef main():\n  check(p)\n"
      "main()\n",
      {{"train.py", "check", 3}, {"train.py", "main", 5}});
  EXPECT_EQ(program.lines(kStatements, "main: caught"), (Lines{"warnings.warn(Spike(p.grad.clone()))"}));
}

TEST(StoredByTest, AMethodOfTheHoldersObjectMadeItItself) {
  const Program program("class Run:\n  def fit(self):\n    loss.backward()\n    self.opt.step()\nrun.fit()\n",
                        {{"train.py", "fit", 4}});
  EXPECT_EQ(program.lines(kStatements, "main.run.opt.state"), (Lines{"self.opt.step()"}));
}

TEST(StoredByTest, WhatAnIteratorOfCKeepsIsFromWhereItIsMade) {
  const Program program(
      "def main():\n  batches = itertools.cycle(loader)\n  for i, batch in zip(range(9), batches):\n    "
      "loss = f(batch[0])\nmain()\n",
      {{"train.py", "main", 3}});
  EXPECT_EQ(program.lines(kStatements, "main: batches (saved)", "main: batches (saved)[0][1]"),
            (Lines{"batches = itertools.cycle(loader)"}));
}

TEST(StoredByTest, AnEntryIsMoreThanACallThatNamesTheContainer) {
  const Program program(
      "def fill():\n  table = []\n  row = net(x)\n  table.append(row)\n  return table\n"
      "def main():\n  table = fill()\n  print(min(table))\nmain()\n",
      {{"train.py", "fill", 3}, {"train.py", "main", 7}});
  EXPECT_EQ(program.lines(kStatements, "main: table"), (Lines{"table.append(row)"}));
}

constexpr std::string_view kSteps =
    "class Run:\n  def step(self, x):\n    self.log.append(x * 2)\ndef main():\n  opt.step()\n"
    "  run.step(1)\n  run.step(2)\nmain()\n";

TEST(StoredByTest, CallersAreThoseOfTheStacks) {
  const Program program(kSteps, {{"lib/torch/x.py", "mul", 5}, {"train.py", "step", 3}, {"train.py", "main", 7}});
  EXPECT_EQ(program.lines(kStatements, "main: run.log"), (Lines{"self.log.append(x * 2)"}));
  EXPECT_EQ(program.lines(kCalls, "main: run.log"), (Lines{"run.step(2)"}));
}

TEST(StoredByTest, AComprehensionIsNotCalledFromElsewhere) {
  const Program program(kSteps, {{"train.py", "<listcomp>", 3}, {"train.py", "step", 3}, {"train.py", "main", 7}});
  EXPECT_EQ(program.lines(kStatements, "main: run.log"), (Lines{"self.log.append(x * 2)"}));
  EXPECT_EQ(program.lines(kCalls, "main: run.log"), (Lines{"run.step(2)"}));
}

TEST(StoredByTest, TheCallOfACachedFunctionAddsItsResult) {
  const Program program(kSteps, {{"lib/torch/x.py", "mul", 5}, {"train.py", "step", 3}, {"train.py", "main", 7}});
  EXPECT_EQ(program.lines(kStatements, "main.Run.step (lru_cache)"), (Lines{"run.step(2)"}));
}

TEST(StoredByTest, TheCallOfACachedFunctionInTheTextIfNoStackHasOne) {
  const Program program(
      "class Texts:\n  @cache\n  def encode(self, text):\n    return self.tokenizer.encode(text)\n"
      "  def batch(self, texts):\n    return [self.encode(text) for text in texts]\ndef main():\n  Texts().batch(x)\n"
      "main()\n",
      {{"train.py", "main", 8}});
  const std::vector<StoringStatement> found = stored_by(program.data, "main.Texts.encode (lru_cache)").statements;
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].text, "return [self.encode(text) for text in texts]");
}

TEST(StoredByTest, WhatMakesAnObjectDoesNotPutItIntoTheCacheOfItsMethod) {
  const Program program(
      "class Text:\n  def __init__(self):\n    self.ids = x.clone()\n  @cache\n  def size(self):\n"
      "    return len(self.ids)\ndef main():\n  text = Text()\n  net(text)\nmain()\n",
      {{"train.py", "__init__", 3}, {"train.py", "main", 8}});
  EXPECT_EQ(program.lines(kStatements, "main.Text.size (lru_cache)"), Lines{}) << "nothing says who calls it";
}

TEST(StoredByTest, AMethodOfAnotherObjectIsNoCall) {
  const Program program(kSteps, {{"train.py", "main", 6}});
  EXPECT_EQ(program.lines(kCalls, "main: run.log"), (Lines{"run.step(1)"})) << "it makes the storages";
}

TEST(StoredByTest, WhatIsNoName) {
  for (const char* holder : {"", "main.table (lru_cache)", "main: f.__closure__[0].cell_contents",
                             "main: f.__closure__['", "cycle A.x → A", "main: x[", "main: a b"}) {
    EXPECT_EQ(of(holder), Lines{}) << holder;
  }
}

TEST(StoredByTest, CodeThatIsNoneIsReadToItsEnd) {
  for (const char* code : {"'", "\"\"\"", "a.seen[", "a.seen[(]", "\\", "a.seen.", "'\\", "a.seen"}) {
    EXPECT_TRUE(storing_statements(code, "x.py", "main: a.seen").empty()) << code;
  }
  EXPECT_EQ(storing_statements("a.seen.append(\x1b[31m", "x.py", "main: a.seen").front().text,
            "a.seen.append(\\x1b[31m");
}

TEST(StoredBy, WhatUsesEntriesIsToldFromWhatCountsRemovesOrAddsThem) {
  const PathEnd attribute{.name = "rows", .function = {}, .attribute = true},
      variable{.name = "rows", .function = "main"};
  for (const char* line : {"x = torch.cat(self.rows)", "for row in self.rows:", "return self.rows[-n:]",
                           "best = heapq.nlargest(k, self.rows)", "f(*self.rows)", "for k, v in self.rows.items():",
                           "x = torch.cat(list(self.rows)[-n:])", "x = sum(r.v for r in self.rows) / len(self.rows)"}) {
    EXPECT_TRUE(uses_entries(line, attribute)) << line;
    EXPECT_FALSE(uses_entries(line, variable)) << "another object's: " << line;
  }
  for (const char* line : {"n = len(self.rows)", "self.rows.clear()", "self.rows = []", "del self.rows[0]",
                           "heapq.heappop(self.rows)", "self.rows[k].remove(x)", "self.rows.append(x)",
                           "self.rows[i] = x", "if self.rows:", "if x in self.rows:", "heapq.heappush(self.rows, x)",
                           "self.rows = self.rows[1:] + [x]", "def rows(self, rows):"})
    EXPECT_FALSE(uses_entries(line, attribute)) << line;
  EXPECT_TRUE(uses_entries("print(rows[0])", variable));
}

}  // namespace
}  // namespace dcmt::analyzer
