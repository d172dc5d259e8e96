/** Converts samples to JSON, so that the document can contain them. */

/**
 * @returns the value as `JSON.parse` would return it; `undefined` if JSON cannot express it (functions, cycles, bigint)
 */
export function toPlainJson(value: unknown): unknown {
  try {
    const text = JSON.stringify(value) as string | undefined
    return text === undefined ? undefined : (JSON.parse(text) as unknown)
  } catch {
    return undefined
  }
}
