/**
 * The errors as applications and packages see them. They choose codes of their own. Within the framework, only the codes
 * of `errorCodes` compile.
 */
import {
  DeclarationError as FrameworkDeclarationError,
  type DeclarationErrorOptions,
  type Problem as FrameworkProblem,
} from './declaration-error.js'
import {
  HttpError as FrameworkHttpError,
  type HttpErrorOptions as FrameworkHttpErrorOptions,
} from './http-error.js'

export type Problem = FrameworkProblem<string>
export type HttpErrorOptions = FrameworkHttpErrorOptions<string>

interface HttpErrorConstructor {
  new (status: number, message?: string, options?: HttpErrorOptions): FrameworkHttpError
  readonly prototype: FrameworkHttpError
}

interface DeclarationErrorConstructor {
  new (found: readonly Problem[], options?: DeclarationErrorOptions): FrameworkDeclarationError
  readonly prototype: FrameworkDeclarationError
}

/**
 * An error that a handler may throw anywhere. The response has its status and the body
 * `{ "error": message, "code": code }`.
 *
 * @throws {RangeError} if the status is not an integer from 400 to 599
 * @throws {TypeError} if an option is unknown
 */
export const HttpError = FrameworkHttpError as HttpErrorConstructor
export type HttpError = FrameworkHttpError

/**
 * Stops bootstrap, or a call. The message is the complete report. `problems` lists the single mistakes without
 * duplicates.
 */
export const DeclarationError = FrameworkDeclarationError as DeclarationErrorConstructor
export type DeclarationError = FrameworkDeclarationError
