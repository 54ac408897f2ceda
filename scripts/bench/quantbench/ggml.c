// Times ggml's reference quantizer of MXFP4: bench MILLISECONDS prints the GB/s,
// counted as BF16 bytes (2 a number), of the best run of at least so long.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define NUMBERS (1 << 20)

void quantize_row_mxfp4_ref(const float *x, void *y, int64_t k);

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
	float *x = malloc(NUMBERS * sizeof *x);
	uint8_t *y = malloc(NUMBERS / 32 * 17);
	uint64_t state = 6;
	for (int i = 0; i < NUMBERS; i++) { // the sum of twelve uniform numbers is nearly normal
		double sum = -6;
		for (int j = 0; j < 12; j++) {
			state = state * 6364136223846793005u + 1442695040888963407u;
			sum += (state >> 40) / 16777216.0;
		}
		x[i] = (float)(sum * 0.02);
	}
	double best = 1e9, begin = now(), length = (argc > 1 ? atof(argv[1]) : 300) / 1000;
	for (int runs = 0; runs < 3 || now() - begin < length; runs++) {
		double start = now();
		quantize_row_mxfp4_ref(x, y, NUMBERS);
		double took = now() - start;
		if (took < best) best = took;
	}
	printf("%.4f\n", NUMBERS * 2.0 / best / 1e9);
	return y[0] == 255;
}
