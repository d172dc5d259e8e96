/**
 * Warns of regular expressions that a client could make very slow. Source: OWASP, Regular expression Denial of Service.
 */
import type { Problem } from '../errors/declaration-error.js'
import { patternCost, type PatternCost } from './pattern-cost.js'
import { fieldName, readShape, type Shape } from './shape.js'

/** Up to so many characters, time that grows as a power of the length is harmless. */
const shortText = 300

const fixes: Readonly<Record<Exclude<PatternCost, 'linear'>, string>> = {
  exponential: 'Do not repeat what already repeats, and set a maxLength.',
  polynomial: `Write it so that one repetition cannot take what the next one takes, or set a maxLength up to ${shortText}.`,
  unknown: 'It is too large to tell. Write it in parts, or check the value in the handler.',
}

/**
 * The patterns that hostile text can keep busy, and those that no `maxLength` bounds, `@Matches` included, of the fields
 * of shapes and of the classes nested in them. Warnings, to be logged at bootstrap.
 */
export function findSlowPatterns(shapes: Iterable<Shape>): Problem[] {
  const warnings: Problem[] = []
  const visited = new Set(shapes)
  // The set grows while it is walked.
  for (const shape of visited) {
    for (const { name, rules, nested } of shape.fields) {
      if (nested !== undefined) visited.add(readShape(nested(), []))
      if (rules.pattern === undefined) continue
      const pattern = new RegExp(rules.pattern)
      const warning = findPatternProblem(fieldName(shape.type, name), pattern, rules.maxLength)
      if (warning !== undefined) warnings.push(warning)
    }
  }
  return warnings
}

function findPatternProblem(
  where: string,
  pattern: RegExp,
  maxLength = Infinity,
): Problem | undefined {
  const cost = patternCost(pattern)
  const isHarmless = cost === 'linear' || (cost === 'polynomial' && maxLength <= shortText)
  if (!isHarmless) {
    const message = `${where}: pattern ${String(pattern)} can take very long on hostile text.`
    return { code: 'FIELD_PATTERN_SLOW', message, remedy: fixes[cost] }
  }
  if (maxLength !== Infinity) return undefined
  const message = `${where}: pattern ${String(pattern)} is matched against text of any length.`
  return { code: 'FIELD_PATTERN_UNBOUNDED', message, remedy: 'Set a maxLength beside it.' }
}
