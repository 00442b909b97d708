/* Fuses two lists by reciprocal rank fusion, then shows what an error looks like.
 *   cc fuse.c $(pkg-config --cflags --libs metafuse) -o fuse && ./fuse */
#include <metafuse.h>
#include <stdio.h>

int main(void) {
  const char* words[] = {"d1", "d7", "d3"};
  const char* vectors[] = {"d3", "d1", "d9"};
  const metafuse_list lists[] = {{"words", words, NULL, 3}, {"vectors", vectors, NULL, 3}};
  const metafuse_option options[] = {{"k", "60"}, {"limit", "3"}};
  metafuse_run* fused = NULL;
  if (metafuse_fuse_lists(lists, 2, "rrf", options, 2, &fused) != METAFUSE_OK) {
    fprintf(stderr, "%s\n", metafuse_last_error());
    return 1;
  }
  for (size_t i = 0; i < metafuse_run_size(fused, 0); ++i)
    printf("%zu %s %.6f\n", i + 1, metafuse_run_document(fused, 0, i), metafuse_run_score(fused, 0, i));
  metafuse_run_free(fused);

  if (metafuse_fuse_lists(lists, 2, "rff", NULL, 0, &fused) == METAFUSE_USAGE)
    printf("refused: %s\n", metafuse_last_error());
  return 0;
}
