#include "lowtide/doctor/report/report.h"

namespace lowtide::doctor {
namespace {

constexpr std::size_t most_points = 500;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json timeline_json(const Timeline& timeline) {
  Json samples = Json::array();
  const double start = timeline.samples.empty() ? 0 : timeline.samples.front().time_s;
  const std::size_t stride = timeline.samples.size() / most_points + 1;
  for (std::size_t i = 0; i < timeline.samples.size(); i += stride) {
    const Sample& s = timeline.samples[i];
    std::uint64_t anon = 0, file = 0, shmem = 0;
    for (const ProcessSample& p : s.processes)
      anon += p.pss_anon + p.swap_pss, file += p.pss_file, shmem += p.pss_shmem;
    Json point = {{"s", s.time_s - start},
                  {"processes", s.processes.size()},
                  {"anon_bytes", anon},
                  {"file_bytes", file},
                  {"shmem_bytes", shmem}};
    if (s.cgroup.present) point["cgroup_bytes"] = s.cgroup.usage;
    samples.push_back(std::move(point));
  }
  return {{"command", timeline.command},
          {"pid", timeline.pid},
          {"exit", timeline.ended ? Json(timeline.exit_status) : Json()},
          {"steps", timeline.step_count},
          {"samples", std::move(samples)}};
}

}  // namespace

Json verdict_json(const Verdict& v) {
  Json claims = Json::array(), parts = Json::object();
  for (const auto& [kind, bytes] : v.parts) parts[kind] = bytes;
  for (const Claim& c : v.claims)
    claims.push_back({{"kind", c.kind},
                      {"bytes", c.bytes},
                      {"label", c.label},
                      {"growing", c.growing},
                      {"where", c.where},
                      {"evidence", c.evidence}});
  return {{"leak", v.leak},
          {"kind", v.kind},
          {"bytes", v.bytes},
          {"parts", parts},
          {"per_step_bytes", or_null(v.per_step_bytes)},
          {"where", v.where},
          {"evidence", v.evidence},
          {"fix", v.fix},
          {"confidence", v.confidence},
          {"summary", v.summary},
          {"level_bytes", v.level_bytes},
          {"per_second_bytes", or_null(v.per_second_bytes)},
          {"limit_bytes", v.limit_bytes == 0 ? Json() : Json(v.limit_bytes)},
          {"seconds_to_limit", or_null(v.seconds_to_limit)},
          {"from_s", v.from_s},
          {"to_s", v.to_s},
          {"charged", v.charged},
          {"table", claims},
          {"not_seen", v.blind}};
}

Json json_report(const Verdict& verdict, const Timeline& timeline) {
  return {{"schema", 1},
          {"verdict", verdict_json(verdict)},
          {"timeline", timeline_json(timeline)},
          {"machine", timeline.machine}};
}

}  // namespace lowtide::doctor
