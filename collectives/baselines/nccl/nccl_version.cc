#include "collectives/baselines/nccl/nccl_library.h"

namespace hockney {

std::string NcclVersionText(int number) {
  // From 2.9 on minor versions have two digits.
  const int unit = number < 10000 ? 1000 : 10000;
  return std::to_string(number / unit) + "." + std::to_string(number % unit / 100) + "." +
         std::to_string(number % 100);
}

}  // namespace hockney
