// lowtide doctor attach PID, lowtide doctor top [PID]: a running tree, from outside.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "lowtide/base/units.h"
#include "lowtide/cli/doctor.h"
#include "lowtide/cli/failure.h"
#include "lowtide/cli/signals.h"
#include "lowtide/cli/terminal.h"
#include "lowtide/doctor/probe/watcher.h"

namespace lowtide::cli {
namespace {

void require_process(int pid) {
  if (pid > 0 && (kill(pid, 0) == 0 || errno == EPERM)) return;
  throw IoError(fmt::format("there is no process {}", pid), ESRCH, std::to_string(pid));
}

void refuse_foreign(const doctor::Watcher& watcher, int pid) {
  if (watcher.refused())
    throw IoError(fmt::format("process {} belongs to another user: its memory cannot be looked at (as root it can: "
                              "sudo lowtide doctor attach {})",
                              pid, pid),
                  EPERM, std::to_string(pid));
}

// False once a signal or the end of the tree asks to stop.
bool pause_for(double seconds) {
  const double until = doctor::monotonic_s() + seconds;
  while (signal_seen() == 0 && doctor::monotonic_s() < until) usleep(20'000);
  return signal_seen() == 0;
}

struct AttachOptions {
  DoctorOutput output;
  int pid = 0;
  double seconds = 0;
  std::string timeline;
};

Exit attach(const SharedOptions& shared, const AttachOptions& options) {
  require_process(options.pid);
  judge_options(options.output);
  doctor::Watcher watcher(
      {.pid = options.pid, .command = fmt::format("process {}", options.pid), .timeline_path = options.timeline});
  if (is_terminal(stderr) && !shared.quiet)
    std::fputs("watching; Ctrl-C ends it with a verdict, and leaves the program running\n", stderr);
  const double until = options.seconds > 0 ? doctor::monotonic_s() + options.seconds : 1e18;
  while (watcher.look()) {
    refuse_foreign(watcher, options.pid);
    if (!pause_for(std::min(watcher.interval_s(), until - doctor::monotonic_s())) || doctor::monotonic_s() >= until)
      break;
  }
  watcher.end(-1);
  report(watcher.timeline(), options.output, shared, stdout);
  return Exit::fine;
}

std::string top_screen(const doctor::Sample& s) {
  std::string text = fmt::format("{:>8} {:>11} {:>11} {:>11} {:>11} {:>5}  {}\n", "pid", "private", "files", "shared",
                                 "swap", "thr", "name");
  std::uint64_t anon = 0, file = 0, shmem = 0, swap = 0;
  for (const doctor::ProcessSample& p : s.processes) {
    text +=
        fmt::format("{:>8} {:>11} {:>11} {:>11} {:>11} {:>5}  {}\n", p.pid, format_bytes(p.pss_anon),
                    format_bytes(p.pss_file), format_bytes(p.pss_shmem), format_bytes(p.swap_pss), p.threads, p.name);
    anon += p.pss_anon, file += p.pss_file, shmem += p.pss_shmem, swap += p.swap_pss;
  }
  text += fmt::format("{:>8} {:>11} {:>11} {:>11} {:>11}\n", "together", format_bytes(anon), format_bytes(file),
                      format_bytes(shmem), format_bytes(swap));
  if (s.cgroup.present)
    text += fmt::format("cgroup {}{}: private {}, page cache {}, shared {}, kernel {}\n", format_bytes(s.cgroup.usage),
                        s.cgroup.limit != 0 ? " of " + format_bytes(s.cgroup.limit) : "", format_bytes(s.cgroup.anon),
                        format_bytes(s.cgroup.file), format_bytes(s.cgroup.shmem), format_bytes(s.cgroup.kernel));
  for (std::size_t i = 0; i < std::min<std::size_t>(5, s.files.size()); ++i)
    text += fmt::format("{:>11} cached, {:>11} mapped  {}\n", format_bytes(s.files[i].cached),
                        format_bytes(s.files[i].mapped), s.files[i].path);
  return text;
}

Exit top(const SharedOptions& shared, int pid) {
  if (pid == 0) pid = getppid();
  require_process(pid);
  const bool live = is_terminal(stdout) && !shared.json;
  doctor::Watcher watcher({.pid = pid, .without = getpid(), .command = fmt::format("process {}", pid)});
  while (watcher.look()) {
    refuse_foreign(watcher, pid);
    const doctor::Sample& s = watcher.timeline().samples.back();
    if (shared.json)
      std::fputs(doctor::to_line(s).c_str(), stdout);
    else
      std::fputs(((live ? "\x1b[H\x1b[J" : "") + top_screen(s)).c_str(), stdout);
    std::fflush(stdout);
    if (!live || !pause_for(1)) break;
  }
  return Exit::fine;
}

}  // namespace

void add_doctor_attach(CLI::App& doctor, Session& session) {
  CLI::App* verb = add_verb(
      doctor, session, {"attach", "Watch a running program from outside.", "lowtide doctor attach 4711 --seconds 60"});
  auto options = std::make_shared<AttachOptions>();
  verb->add_option("PID", options->pid, "The process; all that it started is watched too")->required()->type_name("");
  verb->add_option("--seconds", options->seconds, "How long; until it ends, or Ctrl-C, by default")->type_name("N");
  verb->add_option("--timeline", options->timeline, "Where to keep what was seen")->type_name("FILE");
  add_output_options(verb, options->output);
  verb->callback([=, &session] { session.run = [=, &session] { return attach(session.options, *options); }; });
}

void add_doctor_top(CLI::App& doctor, Session& session) {
  CLI::App* verb = add_verb(
      doctor, session, {"top", "A live view of a tree of processes by kind of memory.", "lowtide doctor top 4711"});
  auto pid = std::make_shared<int>(0);
  verb->add_option("PID", *pid, "The root of the tree; the shell you type in by default")->type_name("");
  verb->callback([=, &session] { session.run = [=, &session] { return top(session.options, *pid); }; });
}

}  // namespace lowtide::cli
