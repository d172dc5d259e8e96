/**
 * Converts a regular expression to an automaton: its character positions, and which positions may follow each other, in
 * how many ways. Source: Glushkov, "The abstract theory of automata"; Weideman and others, "Turning evil regexes
 * harmless".
 */
import { createRequire } from 'node:module'
import type { AST } from '@eslint-community/regexpp'

/** Sample characters: ASCII, some others that character classes distinguish, and the characters of the pattern. */
function samplesOf(source: string): readonly string[] {
  const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
  return [...new Set([...ascii, ...Array.from('Äß٣中😀\u00a0\u2028'), ...Array.from(source)])]
}

export interface Automaton {
  /** By position: the samples that it accepts, one bit for each. */
  readonly accepts: readonly bigint[]
  /** By position: the next positions, with the number of ways that lead there: 1, or 2 for several. */
  readonly follow: readonly ReadonlyMap<number, number>[]
  /** Positions at which a match may end. */
  readonly last: ReadonlySet<number>
}

/** Patterns with more positions are not analysed. */
const maxPositions = 400

/**
 * A repetition with an upper bound is expanded to at most this many copies. Above the limit it is treated as a loop, or as
 * this number of copies, depending on `asLoops`.
 */
const maxCopies = 10

interface ExpressionPart {
  readonly nullable: boolean
  readonly first: readonly number[]
  readonly last: readonly number[]
}

const emptyPart: ExpressionPart = { nullable: true, first: [], last: [] }

/** @throws {SyntaxError} if it is not a pattern, {RangeError} if it has too many positions */
export function toAutomata(pattern: RegExp, asLoops: boolean): Automaton[] {
  const alternatives = parsePattern(pattern)
  const automata: Automaton[] = []
  const queue: { alternatives: readonly AST.Alternative[]; floats: boolean }[] = [
    { alternatives, floats: !isAnchored(alternatives, pattern) },
  ]
  for (const { alternatives, floats } of queue) {
    const builder = new Builder(pattern, asLoops, (inner) => {
      queue.push({ alternatives: inner, floats: false })
    })
    automata.push(builder.build(alternatives, floats))
  }
  return automata
}

/** @throws {SyntaxError} if it is not a pattern */
export function parsePattern({ source, flags, unicode }: RegExp): readonly AST.Alternative[] {
  const { RegExpParser } = createRequire(import.meta.url)(
    '@eslint-community/regexpp',
  ) as typeof import('@eslint-community/regexpp')
  const unicodeSets = flags.includes('v')
  const parser = new RegExpParser()
  return parser.parsePattern(source, 0, source.length, { unicode, unicodeSets }).alternatives
}

function isAnchored(alternatives: readonly AST.Alternative[], { multiline }: RegExp): boolean {
  if (multiline) return false
  return alternatives.every(({ elements: [first] }) => {
    return first?.type === 'Assertion' && first.kind === 'start'
  })
}

class Builder {
  readonly #flags: string
  readonly #asLoops: boolean
  readonly #onLookaround: (alternatives: readonly AST.Alternative[]) => void
  readonly #accepts: bigint[] = []
  readonly #follow: Map<number, number>[] = []
  readonly #acceptedByClass = new Map<string, bigint>()
  readonly #samples: readonly string[]
  readonly #everything: bigint
  /** The end of the text, which no other position accepts. */
  readonly #end: bigint

  constructor(
    { flags, source }: RegExp,
    asLoops: boolean,
    onLookaround: (alternatives: readonly AST.Alternative[]) => void,
  ) {
    this.#flags = flags.replace(/[gydm]/g, '')
    this.#samples = samplesOf(source)
    this.#end = 1n << BigInt(this.#samples.length)
    this.#everything = this.#end - 1n
    this.#asLoops = asLoops
    this.#onLookaround = onLookaround
  }

  /** @param floats a match may begin anywhere, as after `[^]*` */
  build(alternatives: readonly AST.Alternative[], floats: boolean): Automaton {
    const body = this.#either(alternatives)
    const result = floats
      ? this.#join(this.#repeat(this.#addPosition(this.#everything)), body)
      : body
    return { accepts: this.#accepts, follow: this.#follow, last: new Set(result.last) }
  }

  #either(alternatives: readonly AST.Alternative[]): ExpressionPart {
    const parts = alternatives.map(({ elements }) =>
      elements.reduce<ExpressionPart>(
        (before, element) => this.#join(before, this.#part(element)),
        emptyPart,
      ),
    )
    return {
      nullable: parts.some(({ nullable }) => nullable),
      first: parts.flatMap(({ first }) => first),
      last: parts.flatMap(({ last }) => last),
    }
  }

  #part(element: AST.Element): ExpressionPart {
    switch (element.type) {
      case 'Character':
      case 'CharacterClass':
      case 'CharacterSet':
      case 'ExpressionCharacterClass':
        return this.#addPosition(this.#acceptedBy(element.raw))
      case 'Group':
      case 'CapturingGroup':
        return this.#either(element.alternatives)
      case 'Quantifier':
        return this.#quantified(element)
      case 'Backreference':
        return this.#repeat(this.#addPosition(this.#everything))
      case 'Assertion':
        if (element.kind === 'end') return this.#addPosition(this.#end)
        if ('alternatives' in element) this.#onLookaround(element.alternatives)
        return emptyPart
    }
  }

  #quantified({ min, max, element }: AST.Quantifier): ExpressionPart {
    const isUnbounded = max === Infinity || (max >= maxCopies && this.#asLoops)
    const copy = (): ExpressionPart => this.#part(element)
    let result = emptyPart
    for (let count = 0; count < Math.min(min, isUnbounded ? 1 : maxCopies); count++) {
      result = this.#join(result, isUnbounded ? this.#repeat(copy(), false) : copy())
    }
    if (isUnbounded) return min === 0 ? this.#repeat(copy()) : result
    for (let count = min; count < Math.min(max, maxCopies); count++) {
      result = this.#join(result, { ...copy(), nullable: true })
    }
    return result
  }

  #addPosition(accepts: bigint): ExpressionPart {
    const position = this.#accepts.push(accepts) - 1
    if (position >= maxPositions) throw new RangeError('The pattern has too many positions.')
    this.#follow.push(new Map())
    return { nullable: false, first: [position], last: [position] }
  }

  #join(before: ExpressionPart, after: ExpressionPart): ExpressionPart {
    this.#connect(before, after)
    return {
      nullable: before.nullable && after.nullable,
      first: before.nullable ? [...before.first, ...after.first] : before.first,
      last: after.nullable ? [...before.last, ...after.last] : after.last,
    }
  }

  #repeat(part: ExpressionPart, nullable = true): ExpressionPart {
    this.#connect(part, part)
    return { ...part, nullable: nullable || part.nullable }
  }

  #connect({ last }: ExpressionPart, { first }: ExpressionPart): void {
    for (const from of last) {
      const follow = this.#follow[from]
      for (const to of first) follow?.set(to, Math.min(2, (follow.get(to) ?? 0) + 1))
    }
  }

  /** Uses the regular expression engine, so that flags and properties have their exact meaning. */
  #acceptedBy(raw: string): bigint {
    let accepted = this.#acceptedByClass.get(raw)
    if (accepted === undefined) {
      const one = new RegExp(`^(?:${raw})$`, this.#flags)
      accepted = 0n
      for (const [index, sample] of this.#samples.entries()) {
        if (one.test(sample)) accepted |= 1n << BigInt(index)
      }
      // A character that is not a sample is treated as different from all others.
      if (accepted === 0n)
        accepted = 1n << BigInt(this.#samples.length + 1 + this.#acceptedByClass.size)
      this.#acceptedByClass.set(raw, accepted)
    }
    return accepted
  }
}
