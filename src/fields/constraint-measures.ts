/** What code written for class-validator's rules calls. Sources: class-validator 0.15, src/decorator; validator, isLength. */

/** A text's length as the package validator counts it: a surrogate pair is one, a variation selector none. */
export function validatorLength(text: string): number {
  if (!/[\uD800-\uDFFF\uFE0E\uFE0F]/.test(text)) return text.length
  const selected = text.match(/[^\uFE0F\uFE0E][\uFE0F\uFE0E]/g)?.length ?? 0
  const pairs = text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0
  return text.length - selected - pairs
}

/** As class-validator counts (`1.5e-7` has the four of `5e-7`), and the exponent where it throws (`1e-7`). */
export function decimalPlaces(value: number): number {
  const text = String(value)
  return text.split('.')[1]?.length ?? -Number(text.split('e')[1])
}

/** As `indexOf` compares: NaN is not even equal to itself. */
export function areUnique(list: readonly unknown[]): boolean {
  return new Set(list).size === list.length && !list.some(Number.isNaN)
}

/** What `@IsNotEmptyObject()` means, without calling the value's own `hasOwnProperty`. */
export function hasKey(value: unknown): boolean {
  return mayHaveKeys(value) && Object.keys(value).length > 0
}

/** What `@IsNotEmptyObject({ nullable: false })` means: a key whose value is neither null nor undefined. */
export function hasFilledKey(value: unknown): boolean {
  return mayHaveKeys(value) && Object.values(value).some((one) => one !== null && one !== undefined)
}

function mayHaveKeys(value: unknown): value is object {
  if (value === null || Array.isArray(value)) return false
  return typeof value === 'object' || typeof value === 'function'
}
