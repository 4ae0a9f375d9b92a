#include "lowtide/base/fork.h"

#include <pthread.h>

namespace lowtide {

void on_fork(ForkHooks hooks) { pthread_atfork(hooks.before, hooks.parent, hooks.child); }

}  // namespace lowtide
