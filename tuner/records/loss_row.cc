#include "tuner/records/loss_row.h"

namespace hockney {
namespace {

constexpr bool kRequired = true;

constexpr Column<LossRow> kLossColumns[] = {
    {"step", &LossRow::step, kRequired},
    {"loss", &LossRow::loss, kRequired},
    {"one_rank_loss", &LossRow::one_rank_loss},
};

}  // namespace

std::span<const Column<LossRow>> LossRow::Columns() { return kLossColumns; }

}  // namespace hockney
