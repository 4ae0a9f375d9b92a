// lowtide doctor run -- CMD…: starts a program, watches it and all that it starts, and says what it saw.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <regex>
#include <vector>

#include "lowtide/base/units.h"
#include "lowtide/cli/doctor.h"
#include "lowtide/cli/doctor_home.h"
#include "lowtide/cli/failure.h"
#include "lowtide/doctor/probe/watcher.h"

namespace lowtide::cli {
namespace {

struct RunOptions {
  DoctorOutput output;
  std::string steps, timeline;
  bool cgroup = false, outside = false;
  std::vector<std::string> command;
};

// A folder of our own in which watched processes leave their notes; gone with the doctor.
class Notes {
 public:
  Notes() {
    const char* temporary = std::getenv("TMPDIR");
    std::string pattern =
        fmt::format("{}/lowtide-doctor-XXXXXX", temporary != nullptr && *temporary != '\0' ? temporary : "/tmp");
    if (mkdtemp(pattern.data()) == nullptr)
      throw IoError(fmt::format("cannot make {}: {}", pattern, std::strerror(errno)), errno, pattern);
    folder_ = pattern;
  }
  ~Notes() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Notes(const Notes&) = delete;
  Notes& operator=(const Notes&) = delete;
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

volatile std::sig_atomic_t child_pid = 0;

// The terminal sends Ctrl-C to the program as well; what was sent to the doctor alone is handed on.
void hand_on(int number, siginfo_t* info, void*) {
  if (info->si_code <= 0 && child_pid > 0) kill(child_pid, number);
}

constexpr int handed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGCONT};

void hand_signals_on() {
  struct sigaction action{};
  action.sa_sigaction = hand_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigemptyset(&action.sa_mask);
  for (const int number : handed_on) sigaction(number, &action, nullptr);
}

void prepend(const char* name, const std::string& value, const char* separator) {
  const char* old = std::getenv(name);
  setenv(name, (old != nullptr && *old != '\0' ? value + separator + old : value).c_str(), 1);
}

struct Child {
  int pid = 0;
  int output = -1;  // its standard output, where steps are looked for
};

[[noreturn]] void become(const RunOptions& options, const Notes& notes, const DoctorHome& home,
                         const doctor::Cgroup* cgroup, int failure) {
  if (cgroup != nullptr) cgroup->add(getpid());
  if (!options.outside) {
    setenv("LOWTIDE_DOCTOR_DIR", notes.folder().c_str(), 1);
    if (!home.inject.empty()) prepend("PYTHONPATH", home.inject, ":");
    if (!home.sampler.empty()) prepend("LD_PRELOAD", home.sampler, " ");
  }
  std::vector<char*> arguments;
  for (const std::string& word : options.command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t told = write(failure, &error, sizeof error);
  _exit(error == ENOENT ? 127 : 126);
}

Child start(const RunOptions& options, const Notes& notes, const doctor::Cgroup* cgroup) {
  int failure[2], output[2] = {-1, -1};
  if (pipe2(failure, O_CLOEXEC) != 0 || (!options.steps.empty() && pipe2(output, O_CLOEXEC) != 0))
    throw IoError(fmt::format("cannot make a pipe: {}", std::strerror(errno)), errno, "");
  const DoctorHome home = find_doctor_home();
  const int pid = fork();
  if (pid < 0) throw IoError(fmt::format("cannot start a process: {}", std::strerror(errno)), errno, "");
  if (pid == 0) {
    signal(SIGINT, SIG_DFL), signal(SIGTERM, SIG_DFL);
    if (output[1] >= 0) dup2(output[1], STDOUT_FILENO);
    become(options, notes, home, cgroup, failure[1]);
  }
  child_pid = pid;
  hand_signals_on();
  close(failure[1]);
  if (output[1] >= 0) close(output[1]);
  int error = 0;
  const ssize_t count = read(failure[0], &error, sizeof error);
  close(failure[0]);
  if (count == sizeof error) {
    waitpid(pid, nullptr, 0);
    throw UsageError(fmt::format("cannot start {}: {}", options.command.front(), std::strerror(error)),
                     "lowtide doctor run -- python train.py");
  }
  return {pid, output[0]};
}

// Passes the program's output on, and counts the lines that are steps.
class StepReader {
 public:
  StepReader(int fd, const std::string& pattern) : fd_(fd), pattern_(pattern) {}
  // Until `deadline_s`, or until there is nothing more to read.
  void pump(double deadline_s, doctor::Watcher& watcher) {
    while (fd_ >= 0) {
      const double left = deadline_s - doctor::monotonic_s();
      pollfd ready{fd_, POLLIN, 0};
      if (left <= 0 || poll(&ready, 1, static_cast<int>(left * 1000) + 1) <= 0) return;
      char piece[16384];
      const ssize_t count = read(fd_, piece, sizeof piece);
      if (count <= 0) {
        close(fd_);
        fd_ = -1;
        return;
      }
      for (ssize_t done = 0; done < count;) {
        const ssize_t written = write(STDOUT_FILENO, piece + done, static_cast<std::size_t>(count - done));
        if (written <= 0) break;
        done += written;
      }
      find_steps({piece, static_cast<std::size_t>(count)}, watcher);
    }
  }
  bool open() const { return fd_ >= 0; }

 private:
  void find_steps(std::string_view text, doctor::Watcher& watcher) {
    for (const char c : text) {
      if (c != '\n' && c != '\r') {
        if (line_.size() < 4096) line_ += c;
        continue;
      }
      if (std::regex_search(line_, pattern_)) watcher.step();
      line_.clear();
    }
  }
  int fd_;
  std::regex pattern_;
  std::string line_;
};

// Waits for the program, but at most until `deadline_s`. True once it has ended.
bool wait_until(int pid, double deadline_s, int& status) {
  while (true) {
    const int got = waitpid(pid, &status, WNOHANG);
    if (got == pid || (got < 0 && errno == ECHILD)) return true;
    const double left = deadline_s - doctor::monotonic_s();
    if (left <= 0) return false;
    usleep(static_cast<useconds_t>(std::min(left, 0.02) * 1e6));
  }
}

// As the program ended, so does the doctor.
Exit end_as(int status) {
  if (!WIFSIGNALED(status)) return static_cast<Exit>(WIFEXITED(status) ? WEXITSTATUS(status) : 0);
  std::fflush(nullptr);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(WTERMSIG(status), SIG_DFL);
  raise(WTERMSIG(status));
  return static_cast<Exit>(128 + WTERMSIG(status));
}

Exit run(const SharedOptions& shared, const RunOptions& options) {
  judge_options(options.output);  // a size that cannot be read is said before anything starts
  std::string line;
  for (const std::string& word : options.command) line += (line.empty() ? "" : " ") + word;
  const char* temporary = std::getenv("TMPDIR");
  int status = 0;
  {
    const Notes notes;
    doctor::Cgroup cgroup;
    if (options.cgroup) cgroup = doctor::Cgroup::make_child(fmt::format("lowtide-doctor-{}", getpid()));
    const Child child = start(options, notes, cgroup.folder().empty() ? nullptr : &cgroup);
    const std::string timeline_path =
        options.timeline.empty()
            ? fmt::format("{}/lowtide-doctor-{}.timeline",
                          temporary != nullptr && *temporary != '\0' ? temporary : "/tmp", child.pid)
            : options.timeline;
    doctor::Watcher watcher({.pid = child.pid,
                             .command = line,
                             .agent_folder = options.outside ? "" : notes.folder(),
                             .timeline_path = timeline_path});
    if (options.cgroup && cgroup.folder().empty())
      watcher.timeline().blind.push_back("a cgroup of the program's own: it cannot be made here");
    StepReader steps(child.output, options.steps.empty() ? "$^" : options.steps);
    while (true) {
      watcher.look();
      const double deadline = doctor::monotonic_s() + watcher.interval_s();
      if (steps.open()) steps.pump(deadline, watcher);
      if (wait_until(child.pid, deadline, status)) break;
    }
    steps.pump(doctor::monotonic_s() + 1, watcher);
    watcher.end(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    cgroup.remove();
    report(watcher.timeline(), options.output, shared, stderr);
    if (!shared.quiet)
      std::fputs(fmt::format("\nTo read it again: lowtide doctor explain {}\n", timeline_path).c_str(), stderr);
  }
  return end_as(status);
}

}  // namespace

void add_doctor_run(CLI::App& doctor, Session& session) {
  CLI::App* verb = add_verb(doctor, session,
                            {"run", "Run a program, and say where its memory goes.",
                             "lowtide doctor run -- python train.py\nlowtide doctor run --html report.html --limit "
                             "8GiB -- torchrun train.py"});
  auto options = std::make_shared<RunOptions>();
  verb->remove_option(verb->get_option("--json"));
  verb->add_option("--json", options->output.json_path, "Write the report as JSON; - for standard output")
      ->type_name("FILE");
  add_output_options(verb, options->output);
  verb->add_option("--steps", options->steps, "Each line of its output that matches is a step")->type_name("REGEX");
  verb->add_option("--timeline", options->timeline, "Where to keep what was seen; /tmp by default")->type_name("FILE");
  verb->add_flag("--cgroup", options->cgroup, "Give it a cgroup of its own, for exact numbers");
  verb->add_flag("--outside", options->outside, "Put nothing into the program");
  verb->add_option("CMD", options->command, "The program and its arguments, after --")->required()->type_name("");
  verb->callback([=, &session] { session.run = [=, &session] { return run(session.options, *options); }; });
}

}  // namespace lowtide::cli
