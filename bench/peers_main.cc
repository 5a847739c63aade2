#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "bench/exit_codes.h"
#include "bench/peers.h"
#include "bench/read_peer.h"
#include "bench/report_main.h"
#include "topology/check.h"

namespace hockney {
namespace {

int Main(int argc, char** argv) {
  std::filesystem::path folder;
  CLI::App app("Compares the run folders of scripts/peer_comparison and writes peers.md there");
  app.add_option("folder", folder, "Folder that holds a run folder a setting")->required();
  CLI11_PARSE(app, argc, argv);
  if (!std::filesystem::is_directory(folder)) {
    throw InputError(folder.string() + ":1:1: expected a folder that scripts/peer_comparison made");
  }
  std::vector<Peer> peers;
  for (const std::string_view name : PeerNames()) peers.push_back(ReadPeer(folder, name));
  const PeerReport report = ReportPeers(peers);
  fmt::print("{}", report.text);
  ReplaceFile((folder / "peers.md").string(), report.text);
  if (report.peers_compared > 0) return ToInt(ExitCode::kOk);
  throw EnvironmentError(folder.string() + ": nothing could be compared");
}

}  // namespace
}  // namespace hockney

int main(int argc, char** argv) {
  return hockney::RunReport("hockney_peers", hockney::Main, argc, argv);
}
