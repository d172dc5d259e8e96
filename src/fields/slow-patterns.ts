/** Warns of regular expressions that a client could make take for ever. Source: OWASP, Regular expression Denial of Service. */
import { createRequire } from 'node:module'
import type { Problem } from '../errors/declaration-error.js'
import { readShape, type Shape } from './shape.js'

/**
 * The patterns in which repetitions are nested (`(a+)+$`), `@Matches` included, of the fields of shapes and of the
 * classes nested in them. Warnings, to be logged at bootstrap: the rule of thumb also catches some that are harmless.
 */
export function findSlowPatterns(shapes: Iterable<Shape>): Problem[] {
  const warnings: Problem[] = []
  const seen = new Set(shapes)
  // The set grows while it is walked.
  for (const shape of seen) {
    for (const { name, rules, nested } of shape.fields) {
      if (nested !== undefined) seen.add(readShape(nested(), []))
      if (rules.pattern === undefined || isSafe(rules.pattern)) continue
      warnings.push({
        code: 'FIELD_PATTERN_SLOW',
        message: `${shape.name}.${name}: pattern ${String(rules.pattern)} can take very long on hostile text.`,
        remedy: 'Do not repeat what already repeats, and set a maxLength.',
      })
    }
  }
  return warnings
}

type Judge = (pattern: RegExp | string) => boolean

let judge: Judge | undefined

/** Loads the package with the first pattern there is. */
function isSafe(pattern: RegExp | string): boolean {
  judge ??= createRequire(import.meta.url)('safe-regex2') as Judge
  return judge(pattern)
}
