#include "lowtide/cli/io_choice.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>

namespace lowtide::cli {
namespace {

class ForcedMode {
 public:
  explicit ForcedMode(io::Mode mode) {
    if (const char* before = std::getenv("LOWTIDE_IO")) before_ = before;
    setenv("LOWTIDE_IO", std::string(io::name(mode)).c_str(), 1);
  }
  ~ForcedMode() {
    if (before_) {
      setenv("LOWTIDE_IO", before_->c_str(), 1);
    } else {
      unsetenv("LOWTIDE_IO");
    }
  }
  ForcedMode(const ForcedMode&) = delete;
  ForcedMode& operator=(const ForcedMode&) = delete;

 private:
  std::optional<std::string> before_;
};

}  // namespace

ModeTrial try_mode(const std::string& path, io::Mode mode) {
  const ForcedMode forced(mode);
  auto file = io::File::open(path, io::Access::read);
  if (file->mode() == mode) return {std::move(file), ""};
  std::string reason = file->mode_reason();
  const std::string ours = fmt::format("LOWTIDE_IO={}; ", io::name(mode));  // that was us
  if (reason.starts_with(ours)) reason.erase(0, ours.size());
  if (reason.starts_with("RWF_DONTCACHE: ")) reason.erase(0, reason.find(' ') + 1);
  // Without direct IO the library goes on to RWF_DONTCACHE, which is the next rung's story.
  if (io::is_direct(mode)) reason = reason.substr(0, reason.find("; RWF_DONTCACHE"));
  return {nullptr, reason};
}

std::string describe(io::Mode mode) {
  switch (mode) {
    case io::Mode::uring:
      return "io_uring and O_DIRECT";
    case io::Mode::threads:
      return "O_DIRECT on a thread pool";
    case io::Mode::dontcache:
      return "through the page cache, RWF_DONTCACHE";
    case io::Mode::buffered:
      return "through the page cache, pages dropped behind";
  }
  return "";
}

std::string reason_for(const io::File& file) {
  return file.mode_reason().empty() ? "the best there is" : file.mode_reason();
}

}  // namespace lowtide::cli
