/** Warns of regular expressions that a client could make take for ever. Source: OWASP, Regular expression Denial of Service. */
import { createRequire } from 'node:module'
import type { Problem } from '../errors/declaration-error.js'
import type { Shape } from './shape.js'

/**
 * The patterns of a shape's fields, `@Matches` included, in which repetitions are nested (`(a+)+$`). Warnings, to be
 * logged at bootstrap: the rule of thumb also catches some that are harmless.
 */
export function findSlowPatterns(shape: Shape): Problem[] {
  const suspects = shape.fields.filter(({ rules }) => rules.pattern !== undefined)
  if (suspects.length === 0) return []
  const isSafe = createRequire(import.meta.url)('safe-regex2') as (
    pattern: RegExp | string,
  ) => boolean
  return suspects
    .filter(({ rules }) => !isSafe(rules.pattern ?? ''))
    .map(({ name, rules }) => ({
      code: 'FIELD_PATTERN_SLOW',
      message: `${shape.name}.${name}: pattern ${String(rules.pattern)} can take very long on hostile text.`,
      remedy: 'Do not repeat what already repeats, and set a maxLength.',
    }))
}
