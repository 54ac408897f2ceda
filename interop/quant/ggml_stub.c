// What ggml-quants.c wants from the rest of ggml; none of it is reached.
#include <stdlib.h>
#include <stdint.h>
void ggml_abort(const char *file, int line, const char *fmt, ...) { abort(); }
size_t ggml_row_size(int type, int64_t n) { abort(); }
size_t ggml_type_size(int type) { abort(); }
const char *ggml_type_name(int type) { abort(); }
