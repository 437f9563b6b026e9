pyapsp_bfs <- function(graph, source, method = "auto", device = NULL) {
  check_graph(graph)
  ask({
    start <- vertices(graph, source)
    frame_of(python("pyapsp")$bfs(graph$python, start, method, device = device))
  })
}

pyapsp_sssp <- function(graph, source, method = "auto", device = NULL) {
  check_graph(graph)
  ask({
    start <- vertices(graph, source)
    frame_of(python("pyapsp")$sssp(
      graph$python, start, method, predecessors = TRUE, device = device
    ))
  })
}

pyapsp_scc <- function(graph, method = "auto", device = NULL) {
  check_graph(graph)
  found <- ask(frame_of(python("pyapsp")$strongly_connected_components(
    graph$python, method, device = device
  )))
  found$component <- found$component + 1L # Python counts from 0, R from 1
  found
}
