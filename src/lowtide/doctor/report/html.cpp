#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lowtide/base/units.h"
#include "lowtide/doctor/report/report.h"

namespace lowtide::doctor {
namespace {

constexpr double width = 800, height = 260, left = 64, bottom = 24;
constexpr std::size_t most_points = 400, most_lanes = 24;

constexpr const char* style = R"(
:root{color-scheme:light dark;--ink:#1b1f24;--dim:#5d6670;--line:#d5dae0;--back:#fff;--card:#f5f7f9;--anon:#d1495b;--map:#2e86ab;--cache:#8fbfd6;--shm:#edae49;--bad:#b3261e;--good:#1a7f4b;--open:#8a6100}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--dim:#9aa4af;--line:#3a424b;--back:#14181c;--card:#1e242a;--anon:#ef6f80;--map:#58aed2;--cache:#33647c;--shm:#f0bd69;--bad:#ff8a80;--good:#6fd79b;--open:#f0c75e}}
*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
main{max-width:960px;margin:0 auto;padding:24px 16px 48px}h1{font-size:1.35rem;line-height:1.35;margin:.2em 0 .6em;overflow-wrap:anywhere}h2{font-size:1.05rem;margin:2em 0 .5em}
.leak{color:var(--bad)}.fine{color:var(--good)}.open{color:var(--open)}.dim{color:var(--dim);font-size:.9rem;overflow-wrap:anywhere}
table{border-collapse:collapse;width:100%}td,th{padding:.35em .5em;border-bottom:1px solid var(--line);text-align:left;vertical-align:top;overflow-wrap:anywhere}
td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}td:nth-child(2){overflow-wrap:normal}tr.sum td{font-weight:600;border-top:2px solid var(--ink)}
pre,code{font:14px/1.45 ui-monospace,monospace}pre{background:var(--card);padding:12px;border-radius:6px;white-space:pre-wrap;overflow-wrap:anywhere}
svg{width:100%;height:auto;display:block}svg text{fill:var(--dim);font-size:12px}.key span{display:inline-block;margin-right:1em}.key i{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin-right:.35em}
li{overflow-wrap:anywhere}details summary{cursor:pointer}@media(max-width:560px){body{font-size:15px}svg text{font-size:17px}}
)";

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

struct Layer {
  const char *name, *color;
  double (*bytes)(const Sample&);
};

template <std::uint64_t ProcessSample::* Field>
double sum(const Sample& s) {
  double total = 0;
  for (const ProcessSample& p : s.processes) total += static_cast<double>(p.*Field);
  return total;
}

double cached(const Sample& s) {
  double total = 0;
  for (const FileSample& f : s.files) total += static_cast<double>(f.cached - std::min(f.cached, f.mapped));
  return total;
}

constexpr std::array<Layer, 4> layers = {
    {{"private", "--anon",
      [](const Sample& s) { return sum<&ProcessSample::pss_anon>(s) + sum<&ProcessSample::swap_pss>(s); }},
     {"mapped files", "--map", sum<&ProcessSample::pss_file>},
     {"page cache of its files", "--cache", cached},
     {"shared memory", "--shm", [](const Sample& s) {
        return std::max(sum<&ProcessSample::pss_shmem>(s), static_cast<double>(s.shm_of_tree));
      }}}};

std::vector<const Sample*> points_of(const Timeline& timeline) {
  std::vector<const Sample*> points;
  const std::size_t stride = timeline.samples.size() / most_points + 1;
  for (std::size_t i = 0; i < timeline.samples.size(); i += stride) points.push_back(&timeline.samples[i]);
  return points;
}

// Memory by kind, stacked over time, with the two points that the table compares.
std::string chart(const Verdict& verdict, const Timeline& timeline) {
  const auto points = points_of(timeline);
  if (points.size() < 2) return "";
  const double begin = points.front()->time_s, span = std::max(1e-9, points.back()->time_s - begin);
  double top = 1;
  for (const Sample* s : points) {
    double total = 0;
    for (const Layer& layer : layers) total += layer.bytes(*s);
    top = std::max(top, total * 1.08);
  }
  const auto x = [&](double seconds) { return left + (width - left) * seconds / span; };
  const auto y = [&](double bytes) { return (height - bottom) * (1 - bytes / top) + 4; };
  std::string svg =
      fmt::format("<svg viewBox='0 0 {} {}' role='img' aria-label='memory by kind over time'>", width, height + 8);
  for (const double share : {0.0, 0.5, 0.92}) {
    svg += fmt::format(
        "<line x1='{0}' x2='{1}' y1='{2:.1f}' y2='{2:.1f}' stroke='var(--line)'/><text x='{3}' y='{4:.1f}' "
        "text-anchor='end'>{5}</text>",
        left, width, y(top * share), left - 6, y(top * share) + 4,
        format_bytes(static_cast<std::uint64_t>(top * share)));
  }
  std::vector<double> floor(points.size(), 0);
  for (const Layer& layer : layers) {
    std::string upper, lower;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double bytes = layer.bytes(*points[i]), at = x(points[i]->time_s - begin);
      lower = fmt::format("{:.1f},{:.1f} ", at, y(floor[i])) + lower;
      floor[i] += bytes;
      upper += fmt::format("{:.1f},{:.1f} ", at, y(floor[i]));
    }
    svg += fmt::format("<polygon points='{}{}' fill='var({})' fill-opacity='.85'/>", upper, lower, layer.color);
  }
  for (const double at : {verdict.from_s, verdict.to_s})
    svg += fmt::format("<line x1='{0:.1f}' x2='{0:.1f}' y1='4' y2='{1}' stroke='var(--ink)' stroke-dasharray='4 3'/>",
                       x(std::min(at, span)), height - bottom + 4);
  const std::size_t mark_stride = timeline.marks.size() / 200 + 1;
  for (std::size_t i = 0; i < timeline.marks.size(); i += mark_stride)
    svg +=
        fmt::format("<line x1='{0:.1f}' x2='{0:.1f}' y1='{1}' y2='{2}' stroke='var(--dim)'/>",
                    x(std::clamp(timeline.marks[i].time_s - begin, 0.0, span)), height - bottom, height - bottom + 4);
  svg += fmt::format(
      "<text x='{}' y='{}'>0 s</text><text x='{}' y='{}' text-anchor='end'>{:.1f} s</text></svg><p class='key dim'>",
      left, height, width, height, span);
  for (const Layer& layer : layers)
    svg += fmt::format("<span><i style='background:var({})'></i>{}</span>", layer.color, layer.name);
  return svg + "<span>dashed: what the table compares</span></p>";
}

struct Lane {
  std::string name;
  double begin = 0, end = 0;
  std::uint64_t peak = 0;
};

// Processes as lanes: when each lived, the darker the more private memory it had.
std::string lanes(const Timeline& timeline) {
  std::map<std::pair<int, std::uint64_t>, Lane> by_process;
  if (timeline.samples.size() < 2) return "";
  const double begin = timeline.samples.front().time_s, span = std::max(1e-9, timeline.samples.back().time_s - begin);
  for (const Sample& s : timeline.samples) {
    for (const ProcessSample& p : s.processes) {
      Lane& lane =
          by_process
              .try_emplace({p.pid, p.start_ticks}, Lane{fmt::format("{} {}", p.name, p.pid), s.time_s - begin, 0, 0})
              .first->second;
      lane.end = s.time_s - begin;
      lane.peak = std::max(lane.peak, p.pss_anon);
    }
  }
  std::vector<Lane> all;
  for (const auto& [key, lane] : by_process) all.push_back(lane);
  std::stable_sort(all.begin(), all.end(), [](const Lane& a, const Lane& b) { return a.peak > b.peak; });
  std::string html = "<h2>Processes</h2><table>";
  for (std::size_t i = 0; i < std::min(all.size(), most_lanes); ++i) {
    const Lane& lane = all[i];
    html += fmt::format(
        "<tr><td>{}</td><td style='width:55%'><svg viewBox='0 0 400 14' preserveAspectRatio='none' "
        "style='height:14px'><rect x='{:.1f}' y='2' width='{:.1f}' height='10' rx='2' fill='var(--anon)' "
        "fill-opacity='{:.2f}'/></svg></td><td class='n'>{}</td></tr>",
        escaped(lane.name), 400 * lane.begin / span, std::max(2.0, 400 * (lane.end - lane.begin) / span),
        0.25 +
            0.75 * static_cast<double>(lane.peak) / static_cast<double>(std::max<std::uint64_t>(1, all.front().peak)),
        format_bytes(lane.peak));
  }
  html += "</table>";
  if (all.size() > most_lanes) html += fmt::format("<p class='dim'>and {} smaller ones</p>", all.size() - most_lanes);
  return html;
}

std::string table(const Verdict& verdict) {
  std::string html = fmt::format(
      "<h2>Growth, from {:.1f} s to {:.1f} s</h2><p class='dim'>Of "
      "{}.</p><table><tr><th>bytes</th><th>kind</th><th>what</th></tr>",
      verdict.from_s, verdict.to_s, escaped(verdict.charged));
  for (const Claim& c : verdict.claims)
    html += fmt::format("<tr><td class='n'>{}</td><td>{}</td><td>{}{}{}</td></tr>", signed_bytes(c.bytes),
                        escaped(c.kind), escaped(c.label), c.growing ? ", still growing" : "",
                        c.where.empty() ? "" : "<br><span class='dim'>" + escaped(c.where) + "</span>");
  return html + fmt::format("<tr class='sum'><td class='n'>{}</td><td colspan='2'>together, now {}</td></tr></table>",
                            signed_bytes(verdict.bytes),
                            format_bytes(static_cast<std::uint64_t>(std::max<std::int64_t>(0, verdict.level_bytes))));
}

std::string list(const char* title, const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string html = fmt::format("<h2>{}</h2><ul>", title);
  for (const std::string& line : lines) html += "<li>" + escaped(line) + "</li>";
  return html + "</ul>";
}

// The last word of each process: what grew, and which stacks hold live memory.
std::string insides(const Timeline& timeline) {
  std::map<int, const AgentSample*> holders, stacks;
  for (const AgentSample& a : timeline.agents) {
    if (!a.holders.empty() && !a.exiting) holders[a.pid] = &a;
    if (!a.stacks.empty()) stacks[a.pid] = &a;
  }
  std::string html;
  for (const auto& [pid, a] : holders) {
    html += fmt::format(
        "<h2>Objects that grew, process {}</h2><table><tr><th>more</th><th>bytes</th><th>type</th><th>held "
        "by</th></tr>",
        pid);
    for (const Holder& h : a->holders)
      html += fmt::format("<tr><td class='n'>{}</td><td class='n'>{}</td><td>{}</td><td>{}{}</td></tr>", h.count,
                          format_bytes(h.bytes), escaped(h.type), escaped(h.where),
                          h.note.empty() ? "" : " (" + escaped(h.note) + ")");
    html += "</table>";
  }
  for (const auto& [pid, a] : stacks) {
    html += fmt::format(
        "<h2>Live allocations by stack, process {}</h2><table><tr><th>bytes</th><th>stack, innermost first</th></tr>",
        pid);
    for (std::size_t i = 0; i < std::min<std::size_t>(12, a->stacks.size()); ++i) {
      html += fmt::format("<tr><td class='n'>{}</td><td><code>", format_bytes(a->stacks[i].bytes));
      for (const std::string& frame : a->stacks[i].frames) html += escaped(frame) + "<br>";
      html += "</code></td></tr>";
    }
    html += "</table>";
  }
  return html;
}

std::string machine(const Timeline& timeline) {
  if (!timeline.machine.is_object()) return "";
  std::string html = "<h2>Machine</h2><details><summary>facts that decide where memory goes</summary><table>";
  for (const auto& [key, value] : timeline.machine.items())
    html += fmt::format("<tr><td>{}</td><td>{}</td></tr>", escaped(key),
                        escaped(value.is_string() ? value.get<std::string>() : value.dump()));
  return html + "</table></details>";
}

}  // namespace

std::string html_report(const Verdict& v, const Timeline& timeline) {
  const char* tone = v.leak ? "leak" : v.kind == "unexplained" ? "open" : "fine";
  std::string html = fmt::format(
      "<!doctype html><html lang='en'><head><meta charset='utf-8'><meta name='viewport' "
      "content='width=device-width,initial-scale=1'><title>lowtide doctor: "
      "{}</title><style>{}</style></head><body><main>",
      escaped(v.kind), style);
  html += fmt::format("<p class='dim'>lowtide doctor · <code>{}</code></p><h1 class='{}'>{}</h1>",
                      escaped(timeline.command), tone, escaped(v.summary));
  html += chart(v, timeline);
  if (!v.fix.empty()) html += "<h2>Fix</h2><pre>" + escaped(v.fix) + "</pre>";
  if (!v.where.empty()) html += "<h2>Where</h2><pre>" + escaped(v.where) + "</pre>";
  html += table(v) + list("Evidence", v.evidence) + insides(timeline) + lanes(timeline) + list("Not seen", v.blind) +
          machine(timeline);
  html += fmt::format("<p class='dim'>Confidence {:.0f} %.</p></main></body></html>\n", 100 * v.confidence);
  return html;
}

}  // namespace lowtide::doctor
