/* Shortest paths between all pairs of the vertices of a small dense graph.
 *
 *   D   in: lengths of the arcs, INFINITY where there is none; out: distances
 *
 * N is the number of vertices. About 4 N^3 accesses.
 *
 * Compiled as a program, it reads graphs from standard input, as floats in the machine's format,
 * and writes the distances to standard output: gcc -O2 floyd_warshall.c
 */
#include <stdio.h>

#ifndef N
#define N 16
#endif

float D[N][N];

void update(int i, int j, int k)
{
    if (D[i][j] > D[i][k] + D[k][j])
        D[i][j] = D[i][k] + D[k][j];
}

void floyd_warshall(void)
{
    int i, j, k;
    for (k = 0; k < N; k++)
        for (i = 0; i < N; i++)
            for (j = 0; j < N; j++)
                update(i, j, k);
}

int main(void)
{
    while (fread(D, sizeof D, 1, stdin) == 1) {
#pragma kernel
        floyd_warshall();
        fwrite(D, sizeof D, 1, stdout);
    }
    return 0;
}
