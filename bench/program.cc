#include "bench/program.h"

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "bench/build.h"
#include "bench/commands.h"
#include "bench/exit_codes.h"
#include "bench/failure.h"
#include "bench/launch.h"
#include "bench/nccl_tests/command.h"
#include "bench/nccl_tests/exit_code.h"
#include "bench/nccl_tests/names.h"
#include "bench/options.h"
#include "bench/signals.h"
#include "topology/check.h"
#include "tuner/records.h"

namespace hockney {
namespace {

// All sub-commands.
std::vector<Command> AllCommands() {
  return {FitCommand(),      ImportCommand(), InfoCommand(),  LinksCommand(), ListCommand(),
          SimulateCommand(), StepCommand(),   SweepCommand(), TuneCommand()};
}

// The program, or its sub-command once that is known, as messages name it.
std::string NameOf(const CLI::App& program) {
  const auto chosen = program.get_subcommands();
  return chosen.empty() ? "hockney" : "hockney " + chosen[0]->get_name();
}

void Print(const Launch& launch, const std::string& name, Failure failure) {
  if (failure.agreed && launch.rank() != 0) {
    // The launcher ends all ranks as soon as one has failed: rank 0 must have spoken by then.
    if (launch.mpi_started()) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return;
  }
  // The message stays one line, whatever was typed.
  std::replace_if(
      failure.text.begin(), failure.text.end(), [](unsigned char c) { return c < ' ' || c == 127; },
      ' ');
  std::string who;
  if (launch.is_rank_process() && !failure.agreed) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    who = fmt::format("rank {} on {}: ", launch.rank(), host.data());
  }
  fmt::print(stderr, "{}: {}{}\n", name, who, failure.text);
}

std::vector<std::string_view> OptionNames(const CLI::App& app, std::vector<std::string>* storage) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) storage->push_back("--" + name);
    for (const std::string& name : option->get_snames()) storage->push_back("-" + name);
  }
  return {storage->begin(), storage->end()};
}

// Names the first word that no option or sub-command took.
[[noreturn]] void FailUnknown(const CLI::App& program, const std::string& word) {
  const auto chosen = program.get_subcommands();
  std::vector<std::string> storage;
  std::vector<std::string_view> known;
  std::string_view what = "argument";
  if (word.rfind('-', 0) == 0) {
    what = "option";
    known = OptionNames(chosen.empty() ? program : *chosen[0], &storage);
  } else if (chosen.empty()) {
    what = "sub-command";
    for (const CLI::App* each : program.get_subcommands({})) storage.push_back(each->get_name());
    known = {storage.begin(), storage.end()};
  }
  const auto close = Suggest(word.substr(0, word.find('=')), known);
  throw UsageError(fmt::format("\"{}\": unknown {}{}; {} --help lists what is accepted", word, what,
                               close ? fmt::format(", did you mean \"{}\"", *close) : "",
                               NameOf(program)));
}

// Refuses values that CLI11 takes, or words less clearly: none, several where there is one, another
// option's name, and any at all for a flag.
void CheckValues(const CLI::App& app) {
  std::vector<std::string> storage;
  const std::vector<std::string_view> names = OptionNames(app, &storage);
  for (const CLI::Option* option : app.get_options()) {
    const std::vector<std::string>& values = option->results();
    if (option->get_items_expected_max() == 0) {
      const auto given = std::find_if(values.begin(), values.end(),
                                      [](const std::string& value) { return value != "true"; });
      if (given != values.end()) FailOption(OptionName(*option), *given, "no value");
      continue;
    }
    for (const std::string& value : values) {
      const std::string_view name = std::string_view(value).substr(0, value.find('='));
      if (value.empty()) {
        if (option->get_items_expected_min() == 0) continue;  // given without its value
        FailOption(OptionName(*option), value, "a value");
      }
      if (std::find(names.begin(), names.end(), name) != names.end()) {
        FailOption(OptionName(*option), value, "a value, not the next option");
      }
    }
    const bool repeats = option->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
    if (option->get_items_expected_max() == 1 && values.size() > 1 && !repeats) {
      FailOption(OptionName(*option), values[1],
                 fmt::format("one value; \"{}\" came before it", values[0]));
    }
  }
}

// Puts CLI11's complaint about a missing value into the words of this program. It names only the
// option, at its beginning.
void FailMissing(const CLI::App& app, const std::string& complaint) {
  for (const CLI::Option* option : app.get_options()) {
    if (complaint.starts_with(option->get_name() + ": ")) {
      throw UsageError(fmt::format("{}: no value: expected one behind it", OptionName(*option)));
    }
    if (complaint.starts_with(option->get_name() + " is required")) {
      std::string expected = option->get_description();
      expected[0] = static_cast<char>(std::tolower(expected[0]));
      throw UsageError(fmt::format("{}: missing: expected {}", OptionName(*option), expected));
    }
  }
}

// Reads the command line; throws for anything that does not belong there.
void Parse(CLI::App& program, const Launch& launch) {
  std::vector<std::string> words(launch.arguments().rbegin(), launch.arguments().rend());
  if (!words.empty()) words.pop_back();  // the program; CLI11 takes the others last first
  for (const std::string& word : words) {
    // CLI11 would take the next word for the value.
    if (word.starts_with("--") && word.find('=') == word.size() - 1) {
      FailOption(word.substr(0, word.size() - 1), "", "a value");
    }
  }
  const auto check = [&program] {
    const std::vector<std::string> unknown = program.remaining(true);
    if (!unknown.empty()) FailUnknown(program, unknown[0]);
    for (const CLI::App* command : program.get_subcommands()) CheckValues(*command);
  };
  try {
    program.parse(words);
  } catch (const CLI::Success&) {  // --help and --version
    throw;
  } catch (const UsageError&) {
    check();  // an option without its value takes the next one's name
    throw;
  } catch (const CLI::Error& error) {
    check();  // a misspelt option explains why something is missing
    // What CLI11 says of bad values is plain; of those that are missing it is not.
    const bool is_bad_value = dynamic_cast<const CLI::ValidationError*>(&error) != nullptr ||
                              dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
    for (const CLI::App* command : program.get_subcommands()) {
      if (!is_bad_value) FailMissing(*command, error.what());
    }
    throw;
  }
  check();
  if (program.get_subcommands().empty()) {
    throw UsageError("a sub-command is missing; hockney --help lists them");
  }
}

// A full disk or a closed pipe shows only when the buffer is written.
void FlushOutput() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return;
  // A write that failed earlier has left no cause.
  throw EnvironmentError(fmt::format("standard output: {}",
                                     errno != 0 ? strerrordesc_np(errno) : "cannot be written"));
}

int RunChosen(CLI::App& program, Launch& launch) {
  std::vector<std::pair<std::string_view, Runner>> runners;
  for (const Command& command : AllCommands()) {
    runners.emplace_back(command.name, command.add(program));
  }
  for (CLI::App* command : program.get_subcommands({})) command->allow_extras();
  try {
    Parse(program, launch);
  } catch (const CLI::Success& help) {  // --help and --version are exceptions to CLI11
    if (launch.rank() == 0) program.exit(help);
    return ToInt(ExitCode::kOk);
  }
  const std::string chosen = program.get_subcommands()[0]->get_name();
  const auto runner = std::find_if(runners.begin(), runners.end(),
                                   [&](const auto& each) { return each.first == chosen; });
  return runner->second(launch);
}

// What the process returns, and the failure that is printed, if there is one.
struct End {
  int code = ToInt(ExitCode::kOk);
  std::optional<Failure> failure = {};
};

// Runs `run` and turns what it throws into a failure of all ranks or of this one.
template <class Run>
End RunToEnd(Launch& launch, const Run& run, bool* bad_sizes) {
  End end;
  try {
    end.code = run();
    FlushOutput();
  } catch (...) {
    *bad_sizes = IsBadSizes();
    end.failure = CurrentFailure();
    if (end.failure->code == ExitCode::kUsage && !launch.is_rank_process()) {
      end.failure = launch.Share(std::move(*end.failure));
    }
    end.code = ToInt(end.failure->code);
  }
  return end;
}

int Main(int argc, char** argv, const DeviceSource& devices) {
  Launch launch(argc, argv, devices);
  CLI::App program("Measures collective communication for distributed training.", "hockney");
  program.set_version_flag("--version", "hockney " + ReadBuild().version);
  program.footer("hockney COMMAND --help shows its options.\nExample: hockney list algorithms");
  program.allow_extras();
  program.require_subcommand(0, 1);
  const std::string_view name = argc > 0 ? argv[0] : "";
  const std::optional<Collective> linked = CollectiveOfProgram(name);
  bool bad_sizes = false;
  End end = RunToEnd(
      launch, [&] { return linked ? RunNcclTests(launch, *linked) : RunChosen(program, launch); },
      &bad_sizes);
  if (end.failure) {
    Print(launch, linked ? std::string(BaseName(name)) : NameOf(program), std::move(*end.failure));
  }
  if (linked)
    end.code =
        NcclTestsExitCode(static_cast<ExitCode>(end.code), bad_sizes, InterruptGuard::Signal());
  std::fflush(stderr);
  if (launch.mpi_started()) _exit(end.code);
  return end.code;
}

}  // namespace

int RunProgram(int argc, char** argv, const DeviceSource& devices) {
  try {
    return Main(argc, argv, devices);
  } catch (...) {  // the report of a failure failed
    std::fputs("hockney: out of memory or standard error closed\n", stderr);
    return ToInt(ExitCode::kInternal);
  }
}

}  // namespace hockney
