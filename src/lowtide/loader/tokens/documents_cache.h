// Where documents begin, found once for a corpus: the result of a scan is kept beside its first file, for every rank and every start.
//
//   Documents documents = cached_documents(stream, eot);      // train.bin.documents-50256.npy, or a scan that writes it
//
// The file is an array of uint64: eight words (what it is, the token, the tokens and documents there are, a hash of the data, a checksum),
// then the starts. It is written atomically, and believed only if all of that agrees; where it cannot be written, nothing is.
//
// Thread-safe. Blocks for the disk, interruptible. Throws as Documents::from_eot does.
#pragma once

#include <cstdint>
#include <string>

#include "lowtide/loader/tokens/documents.h"
#include "lowtide/loader/tokens/token_stream.h"

namespace lowtide {

std::string documents_cache_path(const TokenStream& stream, std::uint64_t eot);
Documents cached_documents(const TokenStream& stream, std::uint64_t eot);

}  // namespace lowtide
