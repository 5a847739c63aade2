#include "bench/program.h"

int main(int argc, char** argv) { return hockney::RunProgram(argc, argv); }
