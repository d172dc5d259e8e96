/** Samples as JSON: what stands in a document has to survive it. */

/** @returns the value as `JSON.parse` would give it; `undefined` for what is no JSON (functions, circles, bigint) */
export function toPlainJson(value: unknown): unknown {
  try {
    const text = JSON.stringify(value) as string | undefined
    return text === undefined ? undefined : (JSON.parse(text) as unknown)
  } catch {
    return undefined
  }
}
