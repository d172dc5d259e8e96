/** The errors behind an error. Source: conventions, "Errors". */

/** An error and what caused it, each once: the errors of programs may lead back to themselves. */
export function* causesOf(error: unknown): Generator<Error, void> {
  const seen = new Set<unknown>()
  for (let cause = error; cause instanceof Error && !seen.has(cause); cause = cause.cause) {
    seen.add(cause)
    yield cause
  }
}
