/** A developer's mistake: found while the application is put together, reported all at once, before it listens. */

/** One mistake in a declaration, e.g. code `UNKNOWN_PATH_TYPE`. */
export interface Problem {
  /** Stable upper-case name; messages may change, codes may not. */
  readonly code: string
  /** Where and what, as a sentence: `ItemController.show: unknown type "integer".` */
  readonly message: string
  /** What to do about it, as a sentence; empty when the message already says so. */
  readonly remedy: string
}

/** Stops bootstrap. Its message is the whole report; `problems` are the single mistakes. */
export class DeclarationError extends Error {
  readonly code = 'DECLARATION'
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(toReport(problems))
    this.name = 'DeclarationError'
    this.problems = problems
  }
}

function toReport(problems: readonly Problem[]): string {
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
  const width = String(problems.length).length + 1
  const lines = problems.map(({ message, remedy }, index) =>
    `${String(index + 1).padStart(width)} ${message}  ${remedy}`.trimEnd(),
  )
  return [`Filigree cannot start: ${count}`, ...lines].join('\n')
}
