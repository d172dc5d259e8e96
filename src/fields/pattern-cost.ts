/**
 * Estimates how slow hostile text can make a regular expression, and finds the patterns of fields that can become slow.
 * A regular expression backtracks over every way to match the text: if a loop can match a text in two ways, the time is
 * exponential; if two loops can match the same text, it is a power of the length. Source: Weideman and others, "Turning
 * evil regexes harmless"; OWASP, Regular expression Denial of Service.
 */
import type { Problem } from '../errors/declaration-error.js'
import { fieldName, shapeOf, type Shape } from './shape.js'
import { toAutomata, type Automaton } from './pattern-automaton.js'
import { limitsLength } from './pattern-length.js'

/** Up to this length, polynomial time is harmless. */
const shortText = 300

const fixes: Readonly<Record<Exclude<PatternCost, 'linear'>, string>> = {
  exponential: 'Do not repeat what already repeats, and set a maxLength.',
  polynomial: `Write it so that neighbouring repetitions cannot match the same text, or set a maxLength up to ${shortText}.`,
  unknown: 'It is too large to be analysed. Split it, or check the value in the handler.',
}

/**
 * Finds patterns (including `@Matches`) that hostile text can make slow, and patterns that text of any length can match, in
 * shapes and their nested classes. @returns warnings to be logged at bootstrap
 */
export function findSlowPatterns(shapes: Iterable<Shape>): Problem[] {
  const warnings: Problem[] = []
  const visited = new Set(shapes)
  // The set grows during the loop.
  for (const shape of visited) {
    for (const { name, rules, nested } of shape.fields) {
      if (nested !== undefined) visited.add(shapeOf(nested()))
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
  if (maxLength !== Infinity || limitsLength(pattern)) return undefined
  const message = `${where}: pattern ${String(pattern)} is matched against text of any length.`
  return { code: 'FIELD_PATTERN_UNBOUNDED', message, remedy: 'Set a maxLength, too.' }
}

/** `unknown`: too large to be analysed. */
export type PatternCost = 'linear' | 'polynomial' | 'exponential' | 'unknown'

/** The maximum number of steps of an analysis. */
const maxSteps = 300_000

/** @throws {SyntaxError} if the pattern is invalid */
export function patternCost(pattern: RegExp): PatternCost {
  try {
    const search = new Search()
    if (toAutomata(pattern, true).some((automaton) => search.isExponential(automaton)))
      return 'exponential'
    const isPolynomial = toAutomata(pattern, false).some((one) => search.isPolynomial(one))
    return isPolynomial ? 'polynomial' : 'linear'
  } catch (error) {
    if (error instanceof RangeError) return 'unknown'
    throw error
  }
}

class Search {
  #remainingSteps = maxSteps

  /** Whether a loop has two ways from a position to itself with the same text, after which the match may still fail. */
  isExponential(automaton: Automaton): boolean {
    return loopsOf(automaton).some((loop) => {
      if (canEnd(automaton, loop)) return false
      const [start] = loop
      if (start === undefined) return false
      for (const from of loop) {
        for (const [to, ways] of automaton.follow[from] ?? []) {
          if (ways > 1 && loop.has(to)) return true
        }
      }
      return [...loop].some((position) => this.#hasTwoWays(automaton, loop, position))
    })
  }

  /** Whether two different paths lead from the position back to itself with the same text. */
  #hasTwoWays(automaton: Automaton, loop: ReadonlySet<number>, start: number): boolean {
    const size = automaton.accepts.length
    const steps = (pair: number): number[] => {
      const [a, b] = [Math.floor(pair / size), pair % size]
      const next: number[] = []
      for (const x of successorsIn(automaton, a, loop)) {
        for (const y of successorsIn(automaton, b, loop)) {
          if (this.#overlap(automaton, x, y)) next.push(x * size + y)
        }
      }
      return next
    }
    const first = start * size + start
    const reached = reachableFrom(first, steps)
    for (const pair of reached) {
      const isSplit = Math.floor(pair / size) !== pair % size
      if (isSplit && reachableFrom(pair, steps).has(first)) return true
    }
    return false
  }

  /** Whether there are loops through p and q, and a text that leads from p to p, from p to q and from q to q. */
  isPolynomial(automaton: Automaton): boolean {
    const loops = loopsOf(automaton)
    return loops.some((first) =>
      loops.some((second) => {
        if (canEnd(automaton, second)) return false
        return [...first].some((p) =>
          [...second].some((q) => p !== q && this.#sharesText(automaton, { first, second, p, q })),
        )
      }),
    )
  }

  #sharesText(automaton: Automaton, { first, second, p, q }: LoopPair): boolean {
    const size = automaton.accepts.length
    const steps = (triple: number): number[] => {
      const a = Math.floor(triple / size / size)
      const b = Math.floor(triple / size) % size
      const next: number[] = []
      for (const x of successorsIn(automaton, a, first)) {
        for (const z of successorsIn(automaton, triple % size, second)) {
          if (!this.#overlap(automaton, x, z)) continue
          for (const y of automaton.follow[b]?.keys() ?? []) {
            const common = (automaton.accepts[x] ?? 0n) & (automaton.accepts[y] ?? 0n)
            if (((automaton.accepts[z] ?? 0n) & common) !== 0n) next.push((x * size + y) * size + z)
          }
        }
      }
      return next
    }
    return reachableFrom((p * size + p) * size + q, steps).has((p * size + q) * size + q)
  }

  /** Whether both positions accept a common character. */
  #overlap({ accepts }: Automaton, x: number, y: number): boolean {
    if (this.#remainingSteps-- <= 0) throw new RangeError('The pattern is too large.')
    return ((accepts[x] ?? 0n) & (accepts[y] ?? 0n)) !== 0n
  }
}

interface LoopPair {
  readonly first: ReadonlySet<number>
  readonly second: ReadonlySet<number>
  readonly p: number
  readonly q: number
}

/** Whether a match may end in the loop: then the first way succeeds and no other is tried. */
function canEnd({ last }: Automaton, loop: ReadonlySet<number>): boolean {
  return [...loop].some((position) => last.has(position))
}

function successorsIn(
  { follow }: Automaton,
  position: number,
  loop: ReadonlySet<number>,
): number[] {
  return [...(follow[position]?.keys() ?? [])].filter((next) => loop.has(next))
}

function reachableFrom(start: number, steps: (from: number) => readonly number[]): Set<number> {
  const reached = new Set<number>()
  const queue = [start]
  for (let from = queue.pop(); from !== undefined; from = queue.pop()) {
    for (const next of steps(from)) {
      if (reached.has(next)) continue
      reached.add(next)
      queue.push(next)
    }
  }
  return reached
}

/** The sets of positions that can reach each other. */
function loopsOf({ follow }: Automaton): ReadonlySet<number>[] {
  const reachable = follow.map((_, position) =>
    reachableFrom(position, (from) => [...(follow[from]?.keys() ?? [])]),
  )
  const loops: Set<number>[] = []
  const assigned = new Set<number>()
  for (const [position, successors] of reachable.entries()) {
    if (assigned.has(position) || !successors.has(position)) continue
    const loop = new Set([...successors].filter((other) => reachable[other]?.has(position)))
    for (const other of loop) assigned.add(other)
    loops.push(loop)
  }
  return loops
}
