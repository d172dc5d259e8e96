/** Compares the values of fields. */

/** A text that differs if two values differ. */
export const fingerprint = (value: unknown): string =>
  value === undefined ? '' : JSON.stringify(value)

/** Whether two stored values are equal. A missing value equals null. */
export const isEqual = (one: unknown, other: unknown): boolean =>
  fingerprint(one ?? null) === fingerprint(other ?? null)

/** Sorts keys as the server does, so that lists of the same keys are equal. */
export const byText = (one: unknown, other: unknown): number =>
  String(one) < String(other) ? -1 : 1
