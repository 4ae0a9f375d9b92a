// Made by tools/make_cast_hashes.py with NumPy 2.4.6 and ml_dtypes 0.6.0: FNV-1a of what each cast must give.
// Row: from; column: to; both in the order of DType.
#pragma once

#include <cstdint>

#include "lowtide/dtype.h"

namespace lowtide {

// clang-format off
inline constexpr std::uint64_t cast_hashes[dtype_count][dtype_count] = {
    {  // bool
        0x7f9170cba8c9ab2a, 0x198c7edbc002d605, 0xe7135d8812dc6545, 0xe81bd247b6113b65, 0x000fc0f728fce3a5,
        0x198c7edbc002d605, 0xe7135d8812dc6545, 0xe81bd247b6113b65, 0x000fc0f728fce3a5, 0x59de6669a84703e5,
        0xbe24da3784261dc5, 0x2655034c384a7a65, 0x8aef4eeaeffd4ea5, 0xb1d8b86a0e1e54a5, 0x7cce8ec47cf0ab25,
    },
    {  // int8
        0x198c7edbc002d605, 0x7f9170cba8c9ab2a, 0x2dd459fb13d824ae, 0x6c9c8d5aa78b7bba, 0xd3df798e8c834bea,
        0x7f9170cba8c9ab2a, 0x2dd459fb13d824ae, 0x6c9c8d5aa78b7bba, 0xd3df798e8c834bea, 0x5628cc9182dfc4f1,
        0x607500ac2b6ac694, 0x13c66e9595833144, 0xdeebfe8b0582720e, 0x99fcae1fe0eb3774, 0x88e0b4695d90774e,
    },
    {  // int16
        0xbf336c129a911040, 0x7f9170cba8c9ab2a, 0x8bfece6abc1e7d58, 0xe44a4119f7d36dd4, 0xa003ede3905117a4,
        0x7f9170cba8c9ab2a, 0x8bfece6abc1e7d58, 0xe44a4119f7d36dd4, 0xa003ede3905117a4, 0x51f344664055ae86,
        0x14579e0bb7300a23, 0x6e89478d92e3e323, 0x1c8df37b5a58a08b, 0x4a3a43dd891398b3, 0xf1990def85602b2b,
    },
    {  // int32
        0xbf336c129a911040, 0x7f9170cba8c9ab2a, 0x8bfece6abc1e7d58, 0x64cf5568ea79e89a, 0x338d167eeb0ed74e,
        0x7f9170cba8c9ab2a, 0x8bfece6abc1e7d58, 0x64cf5568ea79e89a, 0x338d167eeb0ed74e, 0x0935bd766986ed36,
        0xe2f5df5ee0a0d7a5, 0xdbe51f6c88fbb14d, 0xcf850cd7a2042d09, 0x473cc93ab87d07dd, 0x8e4f42c9ab5ed969,
    },
    {  // int64
        0xbf336c129a911040, 0x7f9170cba8c9ab2a, 0x8bfece6abc1e7d58, 0x64cf5568ea79e89a, 0xfac17b6b43e7ae98,
        0x7f9170cba8c9ab2a, 0x8bfece6abc1e7d58, 0x64cf5568ea79e89a, 0xfac17b6b43e7ae98, 0x9627a87eda674bb6,
        0x463446d9295a52ca, 0x3e89d29269a727d7, 0x699a17467fc50c9e, 0xd8267c02ae8e99d7, 0xb14df39f9a0cd81e,
    },
    {  // uint8
        0x198c7edbc002d605, 0x7f9170cba8c9ab2a, 0x757439e69d3f3e2a, 0x4275bbdb880992da, 0x2b76d349aa1c5e7a,
        0x7f9170cba8c9ab2a, 0x757439e69d3f3e2a, 0x4275bbdb880992da, 0x2b76d349aa1c5e7a, 0x3b35d12613b332b4,
        0x18327c79669957cf, 0x9f1399bc41996a87, 0x4c2c51d910fec262, 0x768a9955ad9bed77, 0x217928d4a05fe202,
    },
    {  // uint16
        0xbf336c129a911040, 0x7f9170cba8c9ab2a, 0x8bfece6abc1e7d58, 0x4cc49e6e260d07b0, 0xa7fb0b90733f7180,
        0x7f9170cba8c9ab2a, 0x8bfece6abc1e7d58, 0x4cc49e6e260d07b0, 0xa7fb0b90733f7180, 0xd30f9c29aac5e9d4,
        0xfff9487f38135d84, 0x08356777149dc87e, 0x25e8901828401fa0, 0x34609a4dc182cc9e, 0x66228ac6fa078520,
    },
    {  // uint32
        0xbf336c129a911040, 0x7f9170cba8c9ab2a, 0x8bfece6abc1e7d58, 0x64cf5568ea79e89a, 0x6a4da23ae0a46a6a,
        0x7f9170cba8c9ab2a, 0x8bfece6abc1e7d58, 0x64cf5568ea79e89a, 0x6a4da23ae0a46a6a, 0x23bb151264c971b6,
        0x1c0378cb8db60e26, 0x7c1af1eebea7c2ec, 0xa726609ebe8848b5, 0x512a052fd4dda58c, 0x345b3117fe3306f5,
    },
    {  // uint64
        0xbf336c129a911040, 0x7f9170cba8c9ab2a, 0x8bfece6abc1e7d58, 0x64cf5568ea79e89a, 0xfac17b6b43e7ae98,
        0x7f9170cba8c9ab2a, 0x8bfece6abc1e7d58, 0x64cf5568ea79e89a, 0xfac17b6b43e7ae98, 0x23bb151264c971b6,
        0x82d1acf4551d23ee, 0xbb7cc075ab2c7e0f, 0x09bff35342115785, 0xdf4e551d810430af, 0xa23298d520c3ba85,
    },
    {  // float16
        0x87e004e2fa1bcb25, 0x98f448be7e2afede, 0xa06d97e6133f6091, 0x7c3815b2a362a22d, 0xe8cdf6a0710f4855,
        0x98f448be7e2afede, 0xa06d97e6133f6091, 0xcb2d33a58b43922d, 0xa036b74ff6cfb0d5, 0xe6c865f412d8bcf6,
        0x5add48c057aaaba7, 0x4d20e66ea4c194e2, 0x97b594b9eb007cb8, 0xad8c8850d900e0c2, 0x8f5b812a5f141658,
    },
    {  // bfloat16
        0x87e004e2fa1bcb25, 0x6727edce033b1248, 0xc31b7bcf9b5fdeb6, 0x6cceaa9e2dfc8f2c, 0x1b607a53fc927a75,
        0x6727edce033b1248, 0xc31b7bcf9b5fdeb6, 0x914123c1c5047725, 0xed7670dd72c94c5e, 0x3bfc2f60047a3521,
        0x22eac8238685e3c3, 0x85285cbfb4dd896b, 0xb04366bddcdfd90a, 0x0e5ecc427acbe9fb, 0x0abf99d6434e748a,
    },
    {  // float32
        0x87e004e2fa1bcb25, 0x17008708719b571c, 0x6fdbfe97f1838d47, 0x4747329b2d954fa5, 0x8032b767f885d901,
        0x17008708719b571c, 0x6fdbfe97f1838d47, 0x4809bdd94871ad81, 0xc8fc4bd273646e8e, 0xd2ca756cdfecb584,
        0x259fbcb952133cc3, 0x9d0bc3cf8e692aae, 0x757a0588a74517f7, 0xb53120dfa1cbfc7e, 0x4674395430cb7837,
    },
    {  // float64
        0x87e004e2fa1bcb25, 0x573c0d87a7bf1b7a, 0xbd413c42eccabe39, 0x830143441382850c, 0xa6fa5349787fe5a1,
        0x573c0d87a7bf1b7a, 0xbd413c42eccabe39, 0x41ac30a388444c2a, 0x7205d7a1399cfcf0, 0xc9ba4aa5f6a00598,
        0x35a6d50941f5d3fd, 0x495aca131947eb68, 0xc9c287ee4438478b, 0xe4b61f34b649a738, 0x2cced085df0d5acb,
    },
    {  // complex64
        0x87e004e2fa1bcb25, 0x8b8bec1f5c9ce0e4, 0x54623ea3be8973cf, 0xf7460998b460a1a3, 0xcb71790928fdf358,
        0x8b8bec1f5c9ce0e4, 0x54623ea3be8973cf, 0x1f46c70e2f67f8f1, 0x303add9931902943, 0xa4dddcefa470388e,
        0xa3b96fba62562901, 0x8d940d00adaa4722, 0xd37a1fb900aff235, 0x45baefd8ab8ab566, 0x4b12aaa65e1eb36e,
    },
    {  // complex128
        0x87e004e2fa1bcb25, 0x2ea101450d4f0428, 0x9b32fbee3d3cd2ef, 0xe3bcdaf8308d52c5, 0x53423cb5afb4d9cb,
        0x2ea101450d4f0428, 0x9b32fbee3d3cd2ef, 0x5e8c48de980c5431, 0xb03da9d7070b82cb, 0x9618f85ae9d4daf6,
        0x187614e320160bdc, 0xb73173009c4419c4, 0xff29ccdc215b5bb5, 0xc7bc60df67ba6546, 0x2f04fd98f45a3e97,
    },
};
// clang-format on

}  // namespace lowtide
