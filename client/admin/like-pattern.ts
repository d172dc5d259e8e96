/** Patterns of the operator `ilike`, for texts that contain another text. */

/** `50%` → `%50\%%` */
export const containsPattern = (text: string): string => `%${text.replace(/[\\%_]/g, '\\$&')}%`

/** The text of a pattern that `containsPattern` has made. */
export const textOfPattern = (pattern: string): string =>
  pattern.replace(/^%|%$/g, '').replace(/\\([\\%_])/g, '$1')
