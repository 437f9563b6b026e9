/* A model with one state, where the file of an ensemble is compiled alone. */
#ifndef MODEL
#define STATES 1
#define FUNCTIONS 1
#define GIVEN 1
#define KEPT 1
#define FOUND 1
#define RESETS 0
static inline void model_functions(const real t, const real *x, real *f) {}
static inline void model_slopes(const real t, const real *x, const real *f, real *k)
{
    k[0] = f[0] * x[0];
}
static inline void model_resets(const real t, const real *x, const real *f, real *k) {}
#define MODEL_SAMPLE OUT(found, row) = y[0];
#define MODEL_FIRST kept[0] = y[0];
#define MODEL_LAST
#endif
