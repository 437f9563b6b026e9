/* A model with one state, where the file of an ensemble is compiled alone. */
#ifndef MODEL
#define STATES 1
#define FUNCTIONS 1
#define VARIED 1
#define REDUCED 1
#define RESULTS 1
#define RESETS 0
static inline void model_functions(const real t, const real *x, real *f) {}
static inline void model_slopes(const real t, const real *x, const real *f, real *k)
{
    k[0] = f[0] * x[0];
}
static inline void model_resets(const real t, const real *x, const real *f, real *k) {}
#define MODEL_SAMPLE OUT(results, row) = y[0];
#define MODEL_FIRST reduced[0] = y[0];
#define MODEL_LAST
#endif
