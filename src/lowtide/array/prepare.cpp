#include "lowtide/array/prepare.h"

#include "lowtide/array/warm_maps.h"
#include "lowtide/io/descriptors.h"
#include "lowtide/io/mode.h"
#include "lowtide/io/thread_pool.h"
#include "lowtide/memory/block_cache.h"
#include "lowtide/memory/page_arena.h"
#include "lowtide/memory/spare_blocks.h"

namespace lowtide {

void prepare_process() {
  // In this order, so that fork takes the locks in the order in which the code nests them: the budget's last, and those of files
  // after those of their maps.
  [[maybe_unused]] static const bool prepared = [] {
    Budget::process();
    PageArena::process();
    io::DescriptorTable::process();
    SpareBlocks::process();
    BlockCache::process();
    WarmMaps::process();
    io::ThreadPool::process();
    io::usable_threads();
    io::uring_available();
    return true;
  }();
}

}  // namespace lowtide
