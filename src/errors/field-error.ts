/**
 * One validation error, and what the framework notes about it for itself. The notes are not part of the JSON.
 */

/**
 * One validation error. `path` is dotted, from the root of the checked value (`lines.0.qty`). `code` is the rule's
 * name.
 */
export interface FieldError {
  readonly path: string
  readonly code: string
  readonly message: string
}

/** All messages as one: `name is missing; A barcode is S and six digits.` Only the last one keeps its full stop. */
export function sentenceOf(errors: readonly FieldError[]): string {
  const last = errors.length - 1
  return errors
    .map(({ message }, index) => (index < last ? message.replace(/\.$/, '') : message))
    .join('; ')
}

export interface Marks {
  /** The field must stay hidden from clients. The program sees the error in full. */
  readonly isHidden?: boolean
  /** The parameter of the violated rule (`min: 3` → 3), which applications use in their own error formats. */
  readonly ruleValue?: unknown
  /** Set if a write of the program caused the error: the name of the record, and whether it has the property. */
  readonly written?: { readonly record: string; readonly isKnown: boolean } | undefined
  /** The key whose row does not exist. The message names it only to a client that sent it. */
  readonly missingKey?: unknown
}

/**
 * Enumerable, so that a copy by `{ ...fieldError }` has the marks too. JSON does not contain symbols. Shared by all copies
 * of the package, because errors work across them.
 */
const marks = Symbol.for('filigree.marks')

interface MarkedFieldError extends FieldError {
  readonly [marks]?: Marks
}

const none: Marks = Object.freeze({})

export function marksOf(fieldError: MarkedFieldError): Marks {
  return fieldError[marks] ?? none
}

/** @returns the validation error with marks in addition to those that it has */
export function withMarks(fieldError: FieldError, added: Marks): FieldError {
  const marked: MarkedFieldError = { ...fieldError, [marks]: { ...marksOf(fieldError), ...added } }
  return marked
}

/** @returns the copy with the marks of the original, unless it has its own */
export function copyMarks(original: MarkedFieldError, copy: MarkedFieldError): FieldError {
  return marks in copy || !(marks in original) ? copy : withMarks(copy, marksOf(original))
}

/** @returns the parameter of the violated rule, `3` for `min: 3` */
export function ruleValueOf(fieldError: FieldError): unknown {
  return marksOf(fieldError).ruleValue
}

export function isHiddenFieldError(fieldError: FieldError): boolean {
  return marksOf(fieldError).isHidden === true
}
