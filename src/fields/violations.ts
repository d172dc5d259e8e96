/**
 * Violations are the failed checks of one input. This file collects them with their paths and converts them to the 400
 * response. Source: decisions, Validation and fields.
 */
import { clip } from '../core/text.js'
import { didYouMean } from '../errors/did-you-mean.js'
import { sentenceOf, withMarks, type FieldError } from '../errors/field-error.js'
import { HttpError } from '../errors/http-error.js'
import { maxDepth } from './kinds/table.js'

/** The maximum number of violations in a response. */
export const maxViolations = 50

/** A failed check. Parents add their names to its path later. */
export interface Violation {
  path: string
  readonly code: string
  /** Appended to the path (`must be a number`), or the complete message if `isMessage` or `property` is set. */
  readonly text: string
  /** Set for the application's own words. */
  readonly isMessage?: boolean
  /** The value of the rule: 3 for `min: 3`. */
  readonly ruleValue?: unknown
  /** Set for class-validator's messages, which contain the name of the property. */
  readonly property?: string
  /** The metadata of the class-validator decorator: of the first rule with this name that failed. */
  readonly metadata?: unknown
  /** The object that violates the rule, while paths are not complete yet. */
  readonly object?: unknown
}

/** An entry whose path is completed by its parents. */
export interface PathEntry {
  path: string
}

/** @param value the rule's value, if it has one */
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

/** Adds a violation in the application's own words. @param value the rule's value, if it has one */
export function addMessage(
  violations: Violation[],
  path: string,
  code: string,
  text: string,
  value?: unknown,
): void {
  if (violations.length < maxViolations)
    violations.push({ path: clip(path), code, text, isMessage: true, ruleValue: value })
}

export function addDepthViolation(violations: Violation[]): void {
  addViolation(violations, '', 'depth', `is nested deeper than ${maxDepth} levels`)
}

/** Reports unknown keys, with a suggestion for misspelt ones. */
export function addUnknownKeys(
  input: Record<string, unknown>,
  knownKeys: ReadonlySet<string>,
  suggested: readonly string[],
  violations: Violation[],
): void {
  for (const key in input) {
    if (violations.length >= maxViolations) return
    if (knownKeys.has(key) || !Object.hasOwn(input, key)) continue
    const suggestion = key.length <= 50 ? didYouMean(key, suggested) : ''
    addViolation(
      violations,
      key === '' ? '""' : key,
      'unknown',
      `is unknown${suggestion && `. ${suggestion}`}`,
    )
  }
}

/** Adds a parent's name to the paths of all entries from index `from` on. */
export function prefixPaths(entries: PathEntry[], from: number, parent: string): void {
  for (let index = from; index < entries.length; index++) {
    const entry = entries[index]
    if (entry !== undefined) entry.path = entry.path === '' ? parent : `${parent}.${entry.path}`
  }
}

/**
 * The response to an invalid input: 400 `VALIDATION`, all messages in one sentence and one by one in `errors`.
 *
 * @param inputName the name of the input in messages about the input itself: `the body`
 */
export function toHttpError(
  violations: readonly Violation[],
  inputName: string,
  cause?: unknown,
): HttpError {
  const errors = violations
    .slice(0, maxViolations)
    .map((violation) => toFieldError(violation, inputName))
  return new HttpError(400, sentenceOf(errors), { code: 'VALIDATION', errors, cause })
}

function toFieldError(violation: Violation, inputName: string): FieldError {
  const { ruleValue } = violation
  const fieldError = describeViolation(violation, inputName)
  return ruleValue === undefined ? fieldError : withMarks(fieldError, { ruleValue })
}

function describeViolation(
  { path, code, text, property, isMessage }: Violation,
  inputName: string,
): FieldError {
  if (isMessage === true) return { path, code, message: text }
  if (property === undefined)
    return { path, code, message: `${path === '' ? inputName : path} ${text}` }
  const parent = path.slice(0, Math.max(0, path.lastIndexOf(property) - 1))
  const nested = parent !== '' && text.startsWith(property)
  return { path, code, message: nested ? `${parent}.${text}` : text }
}
