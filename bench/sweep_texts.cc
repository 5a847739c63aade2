#include "bench/sweep_texts.h"

#include <CLI/CLI.hpp>

#include "bench/topology_options.h"

namespace hockney {
namespace {

void AddWhat(CLI::App& app, SweepTexts& texts) {
  app.add_option("collectives", texts.collectives,
                 "Collectives to measure, or all (see hockney list collectives)")
      ->required();
  app.add_option("-b,--minbytes", texts.begin, "Smallest size; suffixes K, M, G, T are binary")
      ->capture_default_str();
  app.add_option("-e,--maxbytes", texts.end, "Largest size")->capture_default_str();
  app.add_option("-f,--stepfactor", texts.factor, "Factor between sizes (default 2)");
  app.add_option("-i,--stepbytes", texts.increment, "Fixed increment between sizes instead");
  app.add_option("--count", texts.count, "Elements a rank instead of sizes");
  app.add_option("-d,--datatype", texts.types, "Types, comma-separated, or all")
      ->capture_default_str();
  app.add_option("-o,--op", texts.ops, "Operators: sum, prod, min, max, avg, or all")
      ->capture_default_str();
  app.add_option("-r,--root", texts.root, "Root rank; all or -1: every rank in turn")
      ->capture_default_str();
  app.add_option(
      "--split", texts.split,
      "Groups of ranks that all work at once, each for itself: DIV:n and MOD:n (rank / n "
      "and rank modulo n), AND:n and OR:n, or a file with a line of ranks a group");
  app.add_option("--place", texts.place,
                 "Buffers apart (out; default), at NCCL's in-place offsets (in), both");
  app.add_option("--algorithm", texts.algorithms,
                 "Algorithms (see hockney list algorithms); across nodes also "
                 "hierarchical(intra,inter) and hierarchical(intra,rack,inter)")
      ->capture_default_str();
  app.add_option("--tuned", texts.tuned,
                 "Rules of hockney tune: also run what they choose for each size, say in the end "
                 "whether it holds");
  app.add_option("--implementation", texts.implementations,
                 "hockney, mpi, nccl; auto: hockney and mpi, on GPUs hockney and nccl")
      ->capture_default_str();
  app.add_option(
         "--mpi-algorithms", texts.mpi_algorithms,
         "MPI's own algorithms, timed beside its default: names as the library's parameters "
         "spell them (Open MPI: ring, rabenseifner, ...; MPICH: brucks, ...), or all; "
         "default: its choice alone")
      ->capture_default_str();
  app.add_option("--protocol", texts.protocols,
                 "simple, ll; auto: simple, and ll up to 1K, on GPUs 32K")
      ->capture_default_str();
  app.add_option("--store", texts.stores,
                 "cached, non_temporal; auto: cached, and both for peer shapes from 4K a rank")
      ->capture_default_str();
  app.add_option("--lanes", texts.lanes,
                 "Data lanes, comma-separated. Default: 1, and 8 for long vectors between hosts, 4 "
                 "and 16 on GPUs");
  app.add_option("--slices", texts.slices, "Slices a chunk, 1 to 7, comma-separated")
      ->capture_default_str();
}

void AddHow(CLI::App& app, SweepTexts& texts) {
  app.add_option("--mode", texts.mode,
                 "isolated: one call between barriers, last exit - first entry; streamed: "
                 "back-to-back calls over rotating buffers, as nccl-tests")
      ->capture_default_str();
  app.add_option("--buffers", texts.buffers,
                 "refreshed: rewritten and read before each sample; hot; cold")
      ->capture_default_str();
  app.add_option("--clock", texts.clock,
                 "tsc: the kernel's, which all its ranks share; hca3: compared between hosts over "
                 "messages, drift included; local: the longest time that any rank took itself; "
                 "auto: tsc within one kernel, else hca3. A cell whose times hca3 does not know "
                 "within 5 % gets local ones")
      ->capture_default_str();
  app.add_option(
         "--row-budget", texts.row_budget,
         "Time a row's samples may take, their buffers' refresh included; proof, data check "
         "and the passes of the bound come on top")
      ->capture_default_str();
  app.add_option("-n,--iters", texts.iterations, "Exact number of samples; no stopping rule");
  app.add_option("-w,--warmup_iters", texts.warmups, "Exact number of warm-up samples");
  app.add_option("-c,--check", texts.checks, "Data checks a row, 0 for none")
      ->capture_default_str();
  app.add_option("--seed", texts.seed, "Seed of orders and data")->capture_default_str();
  app.add_option("--llc", texts.llc, "Bytes of the last-level cache, where the machine hides it");
  app.add_option("--out", texts.out, "Run folder (default hockney-runs/<UTC>_sweep)");
  app.add_flag("--append", texts.append, "Add this launch to the folder --out names");
  app.add_option("--launches", texts.launches,
                 "Run the whole command K times, one after the other, into one folder");
  app.add_option("--launcher", texts.launcher,
                 "What starts each of --launches, for example \"mpirun -n 2\"");
  app.add_flag("--dry-run", texts.dry_run,
               "Print the collectives and sizes that would be measured, and end");
  app.add_option("--format", texts.format,
                 "text; nccl-tests: its table on stdout, fastest row of each size, both placements")
      ->capture_default_str();
  app.add_option("--progress", texts.progress, "auto, always, never")->capture_default_str();
  AddTopologyOptions(app, &texts.topology);
  AddRankOptions(app, &texts.ranks);
}

}  // namespace

void AddSweepTexts(CLI::App& command, SweepTexts* texts) {
  AddWhat(command, *texts);
  AddHow(command, *texts);
  AddDeviceTexts(command, &texts->device);
}

}  // namespace hockney
