/**
 * Configuration errors of the developer. They are found at startup and reported together, before the application
 * listens.
 */
import { acceptOtherCopies } from './shared-class.js'
import type { ErrorCode } from './error-codes.js'

/** One mistake in a declaration, e.g. code `UNKNOWN_PATH_TYPE`. */
export interface Problem<Code extends string = ErrorCode> {
  /** Stable upper-case name. Messages may change between versions, codes may not. */
  readonly code: Code
  /** States where and what is wrong, as a sentence: `ItemController.show: unknown type "integer".` */
  readonly message: string
  /** States how to fix the mistake, as a sentence. Empty if the message already does. */
  readonly remedy: string
}

/** Problems of an error or of a package, for the report of the framework. Packages choose codes of their own. */
export function asProblems(problems: readonly Problem<string>[]): readonly Problem[] {
  return problems as readonly Problem[]
}

export interface DeclarationErrorOptions extends ErrorOptions {
  /**
   * True if the mistake is in a call of the running program. The message is then only the problems' sentences. Default:
   * false.
   */
  isCall?: boolean
}

/**
 * Stops bootstrap, or a call. The message is the complete report. `problems` lists the single mistakes without
 * duplicates.
 */
export class DeclarationError extends Error {
  readonly code = 'DECLARATION'
  declare readonly problems: readonly Problem<string>[]

  constructor(found: readonly Problem[], options?: DeclarationErrorOptions) {
    const problems = withoutRepetition(found)
    super(options?.isCall === true ? problems.map(toLine).join('\n') : toReport(problems), options)
    this.name = 'DeclarationError'
    // Node prints enumerable properties of uncaught errors, which would repeat the report.
    Object.defineProperty(this, 'problems', { value: problems, enumerable: false })
    // The stack would only lead into the framework.
    if (options?.isCall !== true && !isDebugged()) this.stack = `${this.name}: ${this.message}`
  }
}

acceptOtherCopies(DeclarationError, 'DeclarationError')

/** True if reports include their stack, which requires that `DEBUG` contains filigree. */
export function isDebugged(): boolean {
  return (process.env.DEBUG ?? '').split(/[\s,]+/).includes('filigree')
}

/** True for an error that is printed as its report alone, without the place in the framework that threw it. */
export function isReport(error: unknown): error is DeclarationError {
  return error instanceof DeclarationError && error.stack === `${error.name}: ${error.message}`
}

/** Several parts of an application may read the same invalid record and report it. */
export function withoutRepetition(problems: readonly Problem[]): Problem[] {
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
