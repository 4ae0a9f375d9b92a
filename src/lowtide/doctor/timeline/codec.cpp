#include <algorithm>

#include "lowtide/doctor/timeline/timeline.h"

namespace lowtide::doctor {
namespace {

constexpr std::size_t most_listed = 64;  // holders, stacks, files of one record
constexpr std::size_t longest_text = 400;

// Sums over ten thousand processes stay within 63 bits.
constexpr std::uint64_t largest_number = 1ULL << 48;
constexpr double latest_s = 1e12;

std::uint64_t number(const Json& json, const char* key) {
  const auto at = json.find(key);
  if (at == json.end() || !at->is_number()) return 0;
  if (at->is_number_unsigned()) return std::min(at->get<std::uint64_t>(), largest_number);
  const double value = at->get<double>();
  return value > 0 ? static_cast<std::uint64_t>(std::min(value, static_cast<double>(largest_number))) : 0;
}

double real(const Json& json, const char* key) {
  const auto at = json.find(key);
  const double value = at != json.end() && at->is_number() ? at->get<double>() : 0;
  return value > 0 ? std::min(value, latest_s) : 0;
}

bool flag(const Json& json, const char* key, bool otherwise = false) {
  const auto at = json.find(key);
  return at != json.end() && at->is_boolean() ? at->get<bool>() : otherwise;
}

std::string text(const Json& json, const char* key) {
  const auto at = json.find(key);
  return at != json.end() && at->is_string() ? at->get<std::string>().substr(0, longest_text) : "";
}

template <class Each>
void each_of(const Json& json, const char* key, std::size_t most, Each each) {
  const auto at = json.find(key);
  if (at == json.end() || !at->is_array()) return;
  for (std::size_t i = 0; i < std::min(at->size(), most); ++i) each((*at)[i]);
}

Json process_json(const ProcessSample& p) {
  Json json = {{"pid", p.pid},   {"parent", p.parent}, {"start", p.start_ticks},
               {"name", p.name}, {"anon", p.anon},     {"file", p.file}};
  const auto put = [&](const char* key, std::uint64_t value) {
    if (value != 0) json[key] = value;
  };
  put("shmem", p.shmem), put("swap", p.swap), put("page_tables", p.page_tables), put("mapped", p.mapped);
  put("threads", p.threads), put("fds", p.fds);
  if (p.exact) json["exact"] = true;
  put("pss_anon", p.pss_anon), put("pss_file", p.pss_file), put("pss_shmem", p.pss_shmem), put("swap_pss", p.swap_pss);
  put("private_dirty", p.private_dirty), put("shared_dirty", p.shared_dirty), put("lazy_free", p.lazy_free),
      put("anon_huge", p.anon_huge);
  return json;
}

ProcessSample process_from(const Json& json) {
  ProcessSample p;
  p.pid = static_cast<int>(number(json, "pid")), p.parent = static_cast<int>(number(json, "parent"));
  p.start_ticks = number(json, "start"), p.name = text(json, "name");
  p.anon = number(json, "anon"), p.file = number(json, "file"), p.shmem = number(json, "shmem"),
  p.swap = number(json, "swap");
  p.page_tables = number(json, "page_tables"), p.mapped = number(json, "mapped");
  p.threads = number(json, "threads"), p.fds = number(json, "fds"), p.exact = flag(json, "exact");
  p.pss_anon = number(json, "pss_anon"), p.pss_file = number(json, "pss_file");
  p.pss_shmem = number(json, "pss_shmem"), p.swap_pss = number(json, "swap_pss"),
  p.private_dirty = number(json, "private_dirty");
  p.shared_dirty = number(json, "shared_dirty"), p.lazy_free = number(json, "lazy_free"),
  p.anon_huge = number(json, "anon_huge");
  return p;
}

std::string dump(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string to_line(const Sample& s) {
  Json json = {{"t", s.time_s}, {"processes", Json::array()}};
  for (const ProcessSample& p : s.processes) json["processes"].push_back(process_json(p));
  if (const CgroupSample& c = s.cgroup; c.present) {
    json["cgroup"] = {{"own", c.own},          {"usage", c.usage},
                      {"limit", c.limit},      {"anon", c.anon},
                      {"file", c.file},        {"active_file", c.active_file},
                      {"shmem", c.shmem},      {"slab", c.slab},
                      {"kernel", c.kernel},    {"oom_kills", c.oom_kills},
                      {"pressure", c.pressure}};
  }
  for (const FileSample& f : s.files)
    json["files"].push_back({{"path", f.path}, {"cached", f.cached}, {"mapped", f.mapped}});
  json["shm_used"] = s.shm_used, json["shm_of_tree"] = s.shm_of_tree;
  json["available"] = s.memory_available, json["slab"] = s.slab;
  if (s.device != 0) json["device"] = s.device;
  return dump({{"sample", std::move(json)}});
}

Sample sample_from(const Json& json) {
  Sample s;
  s.time_s = real(json, "t");
  each_of(json, "processes", 10'000, [&](const Json& p) {
    if (p.is_object()) s.processes.push_back(process_from(p));
  });
  if (const auto at = json.find("cgroup"); at != json.end() && at->is_object()) {
    const Json& c = *at;
    s.cgroup = {true,
                flag(c, "own"),
                number(c, "usage"),
                number(c, "limit"),
                number(c, "anon"),
                number(c, "file"),
                number(c, "active_file"),
                number(c, "shmem"),
                number(c, "slab"),
                number(c, "kernel"),
                number(c, "oom_kills"),
                real(c, "pressure")};
  }
  each_of(json, "files", most_listed, [&](const Json& f) {
    if (f.is_object()) s.files.push_back({text(f, "path"), number(f, "cached"), number(f, "mapped")});
  });
  s.shm_used = number(json, "shm_used"), s.shm_of_tree = number(json, "shm_of_tree");
  s.memory_available = number(json, "available"), s.slab = number(json, "slab"), s.device = number(json, "device");
  return s;
}

Json to_json(const AgentSample& a) {
  Json json = {{"t", a.time_s}, {"pid", a.pid}};
  const auto put = [&](const char* key, std::uint64_t value) {
    if (value != 0) json[key] = value;
  };
  if (a.python) json["python"] = true;
  if (a.sampler) json["sampler"] = true;
  if (a.exiting) json["exiting"] = true;
  if (a.has_malloc) json["malloc"] = {{"live", a.malloc_live}, {"mmapped", a.malloc_mmapped}, {"held", a.malloc_held}};
  put("arenas", a.arenas), put("blocks", a.blocks), put("pymalloc", a.pymalloc);
  if (a.has_census) json["census"] = true;
  if (a.census_s > 0) json["census_s"] = a.census_s;
  put("array_bytes", a.array_bytes), put("object_bytes", a.object_bytes);
  if (a.gc_probed) json["gc_probed"] = true;
  put("garbage", a.garbage), put("trimmed", a.trimmed);
  if (!a.gc_enabled) json["gc_enabled"] = false;
  put("steps", a.steps), put("lowtide_held", a.lowtide_held), put("lowtide_limit", a.lowtide_limit);
  put("pool_live", a.pool_live), put("pool_held", a.pool_held);
  for (const Holder& h : a.holders)
    json["holders"].push_back(
        {{"type", h.type}, {"count", h.count}, {"bytes", h.bytes}, {"where", h.where}, {"note", h.note}});
  for (const LiveStack& s : a.stacks) json["stacks"].push_back({{"bytes", s.bytes}, {"frames", s.frames}});
  return json;
}

std::string to_line(const AgentSample& a) { return dump({{"agent", to_json(a)}}); }

AgentSample agent_from(const Json& json) {
  AgentSample a;
  a.time_s = real(json, "t"), a.pid = static_cast<int>(number(json, "pid"));
  a.python = flag(json, "python"), a.sampler = flag(json, "sampler"), a.exiting = flag(json, "exiting");
  if (const auto at = json.find("malloc"); at != json.end() && at->is_object()) {
    a.has_malloc = true;
    a.malloc_live = number(*at, "live"), a.malloc_mmapped = number(*at, "mmapped"), a.malloc_held = number(*at, "held");
  }
  a.arenas = number(json, "arenas"), a.blocks = number(json, "blocks"), a.pymalloc = number(json, "pymalloc");
  a.has_census = flag(json, "census"), a.census_s = real(json, "census_s");
  a.array_bytes = number(json, "array_bytes"), a.object_bytes = number(json, "object_bytes");
  a.garbage = number(json, "garbage"), a.gc_probed = flag(json, "gc_probed"), a.trimmed = number(json, "trimmed");
  a.gc_enabled = flag(json, "gc_enabled", true);
  a.steps = number(json, "steps");
  a.lowtide_held = number(json, "lowtide_held"), a.lowtide_limit = number(json, "lowtide_limit");
  a.pool_live = number(json, "pool_live"), a.pool_held = number(json, "pool_held");
  each_of(json, "holders", most_listed, [&](const Json& h) {
    if (h.is_object())
      a.holders.push_back({text(h, "type"), text(h, "where"), text(h, "note"), number(h, "count"), number(h, "bytes")});
  });
  each_of(json, "stacks", most_listed, [&](const Json& s) {
    if (!s.is_object()) return;
    LiveStack stack{number(s, "bytes"), {}};
    each_of(s, "frames", most_listed, [&](const Json& frame) {
      if (frame.is_string()) stack.frames.push_back(frame.get<std::string>().substr(0, longest_text));
    });
    a.stacks.push_back(std::move(stack));
  });
  return a;
}

std::string header_line(const Timeline& t) {
  return dump({{"lowtide_timeline", timeline_schema},
               {"command", t.command},
               {"pid", t.pid},
               {"machine", t.machine},
               {"blind", t.blind}});
}

}  // namespace lowtide::doctor
