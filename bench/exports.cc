#include "bench/exports.h"

namespace hockney {

std::span<const ExportForm> AllExports() { return {}; }

}  // namespace hockney
