// lowtide doctor explain, machine, compare, diff: what files and this machine say.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "lowtide/base/units.h"
#include "lowtide/cli/doctor.h"
#include "lowtide/cli/json.h"
#include "lowtide/cli/terminal.h"
#include "lowtide/doctor/probe/machine.h"
#include "lowtide/doctor/rule/machine_difference.h"

namespace lowtide::cli {
namespace {

std::string words(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

Exit machine(const SharedOptions& options) {
  const Json facts = doctor::machine_facts();
  if (options.json)
    print_json(doctor::machine_document(facts));
  else if (!options.quiet) {
    Fields fields;
    for (const auto& [key, value] : facts.items()) fields.add(key, words(value));
    fields.print();
  }
  return Exit::fine;
}

Exit compare(const SharedOptions& options, const std::string& a, const std::string& b, const std::string& timeline) {
  const std::string kind = timeline.empty() ? "" : doctor::judge(doctor::load_timeline(timeline)).kind;
  const auto differences = doctor::machine_differences(doctor::load_machine(a), doctor::load_machine(b), kind);
  if (options.json) {
    Json list = Json::array();
    for (const auto& d : differences)
      list.push_back({{"key", d.key}, {"a", d.a}, {"b", d.b}, {"why", d.why}, {"fix", d.fix}});
    print_json({{"schema", 1}, {"kind", kind}, {"differences", list}});
    return Exit::fine;
  }
  if (differences.empty()) std::puts("nothing differs that decides where memory goes");
  const Style style(stdout);
  for (const auto& d : differences) {
    std::string text = fmt::format("{}: {} | {}\n", style.bold(d.key), d.a, d.b);
    if (!d.why.empty()) text += "  " + d.why + "\n";
    if (!d.fix.empty()) text += "  to make the second like the first: " + d.fix + "\n";
    std::fputs(text.c_str(), stdout);
  }
  return Exit::fine;
}

Exit diff(const SharedOptions& options, const std::string& a, const std::string& b) {
  const doctor::Verdict left = doctor::judge(doctor::load_timeline(a)), right = doctor::judge(doctor::load_timeline(b));
  std::set<std::string> kinds;
  for (const auto* v : {&left, &right}) {
    for (const auto& [kind, bytes] : v->parts) kinds.insert(kind);
  }
  const auto part = [](const doctor::Verdict& v, const std::string& kind) {
    return v.parts.contains(kind) ? v.parts.at(kind) : 0;
  };
  std::vector<std::string> order(kinds.begin(), kinds.end());
  std::stable_sort(order.begin(), order.end(), [&](const auto& x, const auto& y) {
    return std::abs(part(right, x) - part(left, x)) > std::abs(part(right, y) - part(left, y));
  });
  if (options.json) {
    Json parts = Json::object();
    for (const auto& kind : order)
      parts[kind] = {
          {"a", part(left, kind)}, {"b", part(right, kind)}, {"difference", part(right, kind) - part(left, kind)}};
    print_json(
        {{"schema", 1}, {"a", doctor::verdict_json(left)}, {"b", doctor::verdict_json(right)}, {"parts", parts}});
    return Exit::fine;
  }
  std::fputs(fmt::format("{}: {}\n{}: {}\n\n{:<14}{:>14}{:>14}{:>14}\n", a, left.summary, b, right.summary, "growth of",
                         "first", "second", "difference")
                 .c_str(),
             stdout);
  for (const auto& kind : order)
    std::fputs(
        fmt::format("{:<14}{:>14}{:>14}{:>14}\n", kind, doctor::signed_bytes(part(left, kind)),
                    doctor::signed_bytes(part(right, kind)), doctor::signed_bytes(part(right, kind) - part(left, kind)))
            .c_str(),
        stdout);
  return Exit::fine;
}

}  // namespace

void add_doctor_explain(CLI::App& doctor, Session& session) {
  CLI::App* verb = add_verb(doctor, session,
                            {"explain", "The verdict on a timeline, again or after a crash.",
                             "lowtide doctor explain run.timeline --html report.html"});
  auto path = std::make_shared<std::string>();
  auto output = std::make_shared<DoctorOutput>();
  verb->add_option("TIMELINE", *path, "What `lowtide doctor run` kept")->required()->type_name("");
  add_output_options(verb, *output);
  verb->callback([=, &session] {
    session.run = [=, &session] {
      report(doctor::load_timeline(*path), *output, session.options, stdout);
      return Exit::fine;
    };
  });
}

void add_doctor_machine(CLI::App& doctor, Session& session) {
  CLI::App* verb = add_verb(
      doctor, session,
      {"machine", "What of this machine decides where memory goes.", "lowtide doctor machine --json > good.json"});
  verb->callback([&session] { session.run = [&session] { return machine(session.options); }; });
}

void add_doctor_compare(CLI::App& doctor, Session& session) {
  CLI::App* verb = add_verb(doctor, session,
                            {"compare", "Two machines: only what differs, what matters first.",
                             "lowtide doctor compare good.json bad.json --for bad.timeline"});
  auto paths = std::make_shared<std::pair<std::string, std::string>>();
  auto timeline = std::make_shared<std::string>();
  verb->add_option("A", paths->first, "From `lowtide doctor machine --json`, or a JSON report")
      ->required()
      ->type_name("");
  verb->add_option("B", paths->second, "The same of the other machine")->required()->type_name("");
  verb->add_option("--for", *timeline, "A run whose growth is to be explained")->type_name("TIMELINE");
  verb->callback([=, &session] {
    session.run = [=, &session] { return compare(session.options, paths->first, paths->second, *timeline); };
  });
}

void add_doctor_diff(CLI::App& doctor, Session& session) {
  CLI::App* verb = add_verb(doctor, session,
                            {"diff", "Two runs: what grew in one and not in the other.",
                             "lowtide doctor diff before.timeline after.timeline"});
  auto paths = std::make_shared<std::pair<std::string, std::string>>();
  verb->add_option("A", paths->first, "A timeline")->required()->type_name("");
  verb->add_option("B", paths->second, "Another")->required()->type_name("");
  verb->callback(
      [=, &session] { session.run = [=, &session] { return diff(session.options, paths->first, paths->second); }; });
}

}  // namespace lowtide::cli
