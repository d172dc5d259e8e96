/**
 * Gathers all faults of an input and makes one answer of them. Sources: decisions, Validation and fields.
 */
import { clip } from '../core/text.js'
import { withRuleValue } from '../errors/field-errors.js'
import { HttpError, type FieldError } from '../errors/http-error.js'

/** At most so many faults are sent. */
export const maxViolations = 50

/** A fault while it is being gathered: its path grows from the inside out. */
export interface Violation {
  path: string
  readonly code: string
  /** Follows the path (`must be a number`), or is the whole message where `property` is given. */
  readonly text: string
  /** The value of the rule: 3 for `min: 3`. */
  readonly ruleValue?: unknown
  /** class-validator's messages name the property themselves. */
  readonly property?: string
  /** What class-validator's decorator wrote, of the first rule of this name that was broken. */
  readonly metadata?: unknown
  /** The object whose rule was broken, while paths are not whole yet. */
  readonly object?: unknown
}

/** Something that waits for its object to be complete, and whose path grows meanwhile. */
export interface PathEntry {
  path: string
}

/** @param value of the rule, where it has one */
export function addViolation(
  violations: Violation[],
  path: string,
  code: string,
  text: string,
  value?: unknown,
): void {
  if (violations.length < maxViolations)
    violations.push({ path: clip(path), code, text, ruleValue: value })
}

/** Puts a parent's name before the paths that were added since there were `from` of them. */
export function prefixPaths(entries: PathEntry[], from: number, parent: string): void {
  for (let index = from; index < entries.length; index++) {
    const entry = entries[index]
    if (entry !== undefined) entry.path = entry.path === '' ? parent : `${parent}.${entry.path}`
  }
}

/**
 * The answer to a faulty input: 400 `VALIDATION`, every message in one sentence and one by one in `errors`.
 *
 * @param whole what the input is called where the fault is the input's as a whole: `the body`
 */
export function toHttpError(
  violations: readonly Violation[],
  whole: string,
  cause?: unknown,
): HttpError {
  const errors = violations
    .slice(0, maxViolations)
    .map((violation) => toFieldError(violation, whole))
  const sentence = errors.map(({ message }) => message).join('; ')
  return new HttpError(400, sentence, { code: 'VALIDATION', errors, cause })
}

function toFieldError(violation: Violation, inputName: string): FieldError {
  return withRuleValue(describeViolation(violation, inputName), violation.ruleValue)
}

function describeViolation(
  { path, code, text, property }: Violation,
  inputName: string,
): FieldError {
  if (property === undefined)
    return { path, code, message: `${path === '' ? inputName : path} ${text}` }
  const parent = path.slice(0, Math.max(0, path.lastIndexOf(property) - 1))
  const nested = parent !== '' && text.startsWith(property)
  return { path, code, message: nested ? `${parent}.${text}` : text }
}
