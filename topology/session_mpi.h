#pragma once

namespace hockney {

// The text of an MPI return code for HOCKNEY_CHECK, null on success. Valid until this thread's next
// call.
const char* StatusText(int status);

}  // namespace hockney
