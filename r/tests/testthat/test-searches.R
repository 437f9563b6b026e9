edges <- data.frame(
  source = c("b", "a", "a", "c", "z", "c"),
  target = c("c", "b", "c", "b", "a", "d"),
  weight = c(2, 1, 5, 2, 4, 0.5)
)

test_that("levels and parents are those of the vertices by name", {
  found <- pyapsp_bfs(pyapsp_graph(edges), "a")
  expect_identical(found, data.frame(
    source = "a",
    vertex = c("a", "b", "c", "d", "z"),
    level = c(0L, 1L, 1L, 2L, NA),
    parent = c(NA, "a", "a", "c", NA)
  ))
})

test_that("distances and predecessors follow the weights", {
  found <- pyapsp_sssp(pyapsp_graph(edges), "a")
  expect_identical(found, data.frame(
    source = "a",
    vertex = c("a", "b", "c", "d", "z"),
    distance = c(0, 1, 3, 3.5, NA),
    predecessor = c(NA, "a", "b", "c", NA)
  ))
  ones <- pyapsp_sssp(pyapsp_graph(edges, weight = NULL), "a")
  expect_identical(ones$distance, c(0, 1, 1, 2, NA))
})

test_that("components are numbered from 1", {
  found <- pyapsp_scc(pyapsp_graph(edges))
  expect_identical(found, data.frame(
    vertex = c("a", "b", "c", "d", "z"),
    component = c(1L, 2L, 2L, 3L, 4L)
  ))
  both <- pyapsp_scc(pyapsp_graph(edges, directed = FALSE))
  expect_identical(both$component, rep(1L, 5))
})

test_that("several sources give rows for each", {
  graph <- pyapsp_graph(edges)
  found <- pyapsp_sssp(graph, c("z", "b"))
  expect_identical(found$source, rep(c("z", "b"), each = 5))
  expect_identical(found[1:5, -1], pyapsp_sssp(graph, "z")[, -1])
  expect_identical(found$distance[6:10], c(NA, 0, 2, 2.5, NA))
})

test_that("numbers are names, whole doubles and large ones too", {
  for (type in c("integer", "double")) {
    ends <- data.frame(source = c(30, 7), target = c(7, 12))
    ends[] <- lapply(ends, `storage.mode<-`, type)
    found <- pyapsp_bfs(pyapsp_graph(ends), ends$source[1])
    expect_identical(found$vertex, c(7L, 12L, 30L))
    expect_identical(found$level, c(1L, 2L, 0L))
    expect_identical(found$parent, c(30L, 7L, NA))
  }
  large <- pyapsp_bfs(pyapsp_graph(data.frame(source = 2^40, target = 2^40 + 1)), 2^40)
  expect_identical(large$vertex, 2^40 + 0:1)
  expect_identical(large$parent, c(NA, 2^40))
})

test_that("factors, positions and letters of other scripts are read", {
  ends <- data.frame(from = factor(c("\u00e9", "b")), to = factor(c("b", "\u03b1")), cost = 2:3)
  graph <- pyapsp_graph(ends, 1, 2, weight = 3)
  found <- pyapsp_sssp(graph, "\u00e9")
  expect_identical(found$vertex, c("b", "\u00e9", "\u03b1"))
  expect_identical(found$distance, c(2, 0, 5))
  expect_identical(pyapsp_sssp(graph, factor("\u00e9")), found)
})

test_that("frames of one row, and of none, are frames", {
  one <- pyapsp_graph(data.frame(source = "x", target = "y"))
  expect_identical(pyapsp_bfs(one, "x")$level, 0:1)
  none <- pyapsp_graph(data.frame(source = character(), target = character()))
  expect_identical(dim(pyapsp_scc(none)), c(0L, 2L))
  expect_output(print(none), "n=0, m=0")
})
