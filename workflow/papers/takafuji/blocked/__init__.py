"""[T], chapter 3: blocked Floyd-Warshall in one launch, on packed words, on several cores."""
