# What crosses between R and Python: columns, names of vertices, results and errors.
#
# Vectors cross as Python lists. As arrays they would need a reticulate that was compiled for the
# installed version of NumPy. Three things would be changed silently and are handled here:
# NA becomes "NA" or -2147483648, integers of 64 bits wrap around in R, and a vector of one value
# becomes no list.

# Doubles hold every whole number up to this one.
counted <- 2^53

# Return a module of Python. Python starts at the first call, so that users can choose it before.
python <- function(module) {
  reticulate::import(module, convert = FALSE)
}

# Stop with an error of the class that Python's error has.
fail <- function(class, message) {
  stop(structure(
    class = c(class, "pyapsp_error", "error", "condition"),
    list(message = message, call = NULL)
  ))
}

# Evaluate a call of Python; its errors become R errors with the same message.
ask <- function(call) {
  reticulate::py_clear_last_error()
  tryCatch(call, error = function(raised) {
    last <- reticulate::py_last_error()
    if (is.null(last)) stop(raised)
    if (identical(last$type, "ModuleNotFoundError")) {
      path <- reticulate::py_config()$python
      last$value <- paste0(
        last$value, ": ", path, " lacks it. Install pyapsp there, or choose another Python with ",
        "RETICULATE_PYTHON or reticulate::use_python() in a new session"
      )
    }
    fail(last$type, last$value)
  })
}

# Return what Python reads as a list of these values, None for NA and NaN.
as_list <- function(values) {
  values <- as.vector(unname(values))
  missing <- is.na(values)
  if (length(values) > 1 && !any(missing)) return(values)
  values <- as.list(values)
  values[missing] <- list(NULL)
  values
}

# Return whether values are numbers or text. Dates and 64-bit integers are doubles of a class.
is_plain <- function(values) {
  is.atomic(values) && is.null(dim(values)) && (!is.object(values) || is.factor(values))
}

# Return names of vertices as text or integers. In R most whole numbers are doubles.
as_ids <- function(values) {
  if (is.factor(values)) values <- as.character(values)
  if (is.character(values)) return(as_list(enc2utf8(values)))
  if (!is.double(values) || anyNA(values)) return(as_list(values))
  if (any(values != trunc(values) | abs(values) > counted)) return(as_list(values))
  if (all(abs(values) <= .Machine$integer.max)) return(as_list(as.integer(values)))
  python("numpy")$array(as_list(values), dtype = "int64")$tolist()
}

# Return the name of a column that is given by name or by position, from 1.
name_of <- function(edges, column) {
  if (length(column) != 1 || is.na(column) || !(is.character(column) || is.numeric(column))) {
    fail("ParameterError", "a column must be one name or one position")
  }
  if (is.character(column)) return(column)
  if (!column %in% seq_along(edges)) {
    fail("GraphError", sprintf("the data frame has no column %s, but %d", column, length(edges)))
  }
  names(edges)[column]
}

# Return a column of a data frame.
column_of <- function(edges, name) {
  if (sum(names(edges) == name) > 1) {
    fail("GraphError", sprintf("the data frame has more than one column '%s'", name))
  }
  values <- edges[[name]]
  if (!is_plain(values)) {
    kind <- paste(class(values), collapse = ", ")
    fail("GraphError", sprintf("the column '%s' is of class %s, not numbers or text", name, kind))
  }
  values
}

# Return the data frame of a result of Python.
frame_of <- function(found) {
  columns <- found$to_columns()
  names <- as.character(reticulate::py_to_r(python("builtins")$list(columns)))
  values <- lapply(names, function(name) vector_of(columns[[name]]))
  names(values) <- names
  data.frame(values, stringsAsFactors = FALSE)
}

# Return an array of Python as a vector, NA where it is masked.
vector_of <- function(column) {
  masked <- python("numpy.ma")
  kind <- reticulate::py_to_r(column$dtype$kind)
  whole <- kind %in% c("i", "u")
  data <- masked$getdata(column)
  if (whole) data <- data$astype("float64")
  values <- reticulate::py_to_r(data$tolist())
  values <- if (whole || kind == "f") as.numeric(values) else as.character(values)
  values[as.logical(reticulate::py_to_r(masked$getmaskarray(column)$tolist()))] <- NA
  if (whole && all(abs(values) <= .Machine$integer.max, na.rm = TRUE)) as.integer(values) else values
}
