/** A developer's mistakes: found at the start, all reported at once, before the application listens. */

/** One mistake in a declaration, e.g. code `UNKNOWN_PATH_TYPE`. */
export interface Problem {
  /** Stable upper-case name; messages may change, codes may not. */
  readonly code: string
  /** Where and what, as a sentence: `ItemController.show: unknown type "integer".` */
  readonly message: string
  /** What to do about it, as a sentence; empty when the message already says so. */
  readonly remedy: string
}

/** Adds problems that are not listed yet: if several routes use a faulty class, each of them finds its problems. */
export function addProblems(found: readonly Problem[], problems: Problem[]): void {
  for (const problem of found) if (!problems.includes(problem)) problems.push(problem)
}

export interface DeclarationErrorOptions extends ErrorOptions {
  /** The mistake is in a call of the running program: its sentences alone are the message. Default false. */
  isCall?: boolean
}

/** Stops bootstrap, or a call. Its message is the whole report; `problems` are the single mistakes, each once. */
export class DeclarationError extends Error {
  readonly code = 'DECLARATION'
  declare readonly problems: readonly Problem[]

  constructor(found: readonly Problem[], options?: DeclarationErrorOptions) {
    const problems = withoutRepetition(found)
    super(options?.isCall === true ? problems.map(toLine).join('\n') : toReport(problems), options)
    this.name = 'DeclarationError'
    // Node prints the enumerable properties of an error nobody catches: the report would be there twice.
    Object.defineProperty(this, 'problems', { value: problems, enumerable: false })
    if (options?.isCall !== true && !isDebugged()) reportAlone(this)
  }
}

/** Whether reports are shown with their stack: `DEBUG` names filigree. */
export function isDebugged(): boolean {
  return (process.env.DEBUG ?? '').split(/[\s,]+/).includes('filigree')
}

/** The report names what is wrong in the application's words; a stack would only lead into the framework. */
function reportAlone(error: DeclarationError): void {
  error.stack = `${error.name}: ${error.message}`
  if (watches) return
  watches = true
  process.on('uncaughtExceptionMonitor', endWithReport)
}

let watches = false

/** Node would show the line of its own source that found the error. An application that listens for errors goes first. */
function endWithReport(error: unknown): void {
  if (!(error instanceof DeclarationError) || process.listenerCount('uncaughtException') > 0) return
  if (error.stack !== `${error.name}: ${error.message}`) return
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
}

/** A record that several parts of the application read is found faulty by each of them. */
function withoutRepetition(problems: readonly Problem[]): Problem[] {
  const bySentence = new Map(problems.map((problem) => [toLine(problem), problem]))
  return [...bySentence.values()]
}

function toLine({ message, remedy }: Problem): string {
  return `${message}  ${remedy}`.trimEnd()
}

function toReport(problems: readonly Problem[]): string {
  const count = problems.length === 1 ? '1 problem' : `${problems.length} problems`
  const width = String(problems.length).length + 1
  const lines = problems.map(
    (problem, index) => `${String(index + 1).padStart(width)} ${toLine(problem)}`,
  )
  return [`Filigree cannot start: ${count}`, ...lines].join('\n')
}
