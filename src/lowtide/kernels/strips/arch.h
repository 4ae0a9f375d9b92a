// The instruction set a source of this folder is compiled for.
//
// Every *.cpp here is compiled once for each of them (cmake/variants.cmake), each time into its own namespace,
// lowtide::LOWTIDE_ARCH. Whatever is inline or a template stands in an unnamed namespace: were it shared, the linker
// could keep the AVX-512 copy for all. For the same reason sources here use no function of std that is a template.
#pragma once

#ifndef LOWTIDE_ARCH
#define LOWTIDE_ARCH baseline
#endif

// Of a vector register, in bytes. Vectors of gcc's that are wider than one are taken apart into scalars in places.
#if defined(__AVX512F__)
#define LOWTIDE_REGISTER_BYTES 64
#elif defined(__AVX2__)
#define LOWTIDE_REGISTER_BYTES 32
#else
#define LOWTIDE_REGISTER_BYTES 16
#endif
