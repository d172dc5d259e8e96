/** Random operations over random records: nested lists, filters, orders, variables, fragments, directives. */
import fc from 'fast-check'
import { scalar, type Draw, type RandomField, type RandomRecord } from './random-records.js'

export interface RandomOperation {
  readonly text: string
  readonly variables: Record<string, unknown>
}

/** Draws one query with a few root fields. */
export function drawOperation(draw: Draw, records: readonly RandomRecord[]): RandomOperation {
  return new OperationDrawer(draw, records).draw()
}

class OperationDrawer {
  readonly #draw: Draw
  readonly #records: readonly RandomRecord[]
  readonly #variables: Record<string, unknown> = {}
  readonly #declared: string[] = []
  readonly #fragments: string[] = []
  #names = 0

  constructor(draw: Draw, records: readonly RandomRecord[]) {
    this.#draw = draw
    this.#records = records
  }

  draw(): RandomOperation {
    const count = this.#int(1, 3)
    const roots = Array.from({ length: count }, (_, index) => `r${index}: ${this.#root()}`)
    const body = [`{ ${roots.join(' ')} }`, ...this.#usedFragments(roots.join(' '))].join('\n')
    const used = this.#declared.filter((one) =>
      new RegExp(`\\$${one.slice(1).split(':')[0] ?? ''}\\b`).test(body),
    )
    const text = `query Q${used.length === 0 ? '' : `(${used.join(', ')})`} ${body}`
    return { text, variables: this.#variables }
  }

  /** The drawn fragments that the text uses. */
  #usedFragments(text: string): string[] {
    const used: string[] = []
    for (const fragment of [...this.#fragments].reverse()) {
      const name = fragment.split(' ')[1] ?? ''
      if ([text, ...used].some((one) => one.includes(`...${name} `))) used.push(fragment)
    }
    return used
  }

  #root(): string {
    const record = this.#pick(this.#records)
    const lower = record.name.toLowerCase()
    switch (this.#int(0, 5)) {
      case 0:
        return `${lower}(id: ${this.#writeValue('ID', String(this.#int(0, 4)))}) ${this.#object(record, 3)}`
      case 1:
        return `${lower}Count(${this.#where(record)})`.replace('()', '')
      case 2:
        return this.#page(record, lower)
      default:
        return `${lower}s${this.#list(record)} ${this.#object(record, 3)}`
    }
  }

  #page(record: RandomRecord, lower: string): string {
    const first = this.#writeValue('Int', this.#int(0, 4))
    const args = [`first: ${first}`, this.#where(record), this.#order(record)].filter(Boolean)
    const info = 'pageInfo { hasNextPage hasPreviousPage startCursor endCursor __typename }'
    const edges = `edges { cursor node ${this.#object(record, 2)} }`
    const parts = this.#draw(fc.subarray([info, edges, 'totalCount'], { minLength: 1 }))
    return `${lower}sPage(${args.join(', ')}) { ${parts.join(' ')} }`
  }

  #list(record: RandomRecord): string {
    const args = [this.#where(record), this.#order(record)]
    if (this.#chance(2)) args.push(`limit: ${this.#writeValue('Int', this.#int(0, 5))}`)
    if (this.#chance(3)) args.push(`offset: ${this.#writeValue('Int', this.#int(0, 3))}`)
    // Invalid, so that graphql-js reports where.
    if (this.#chance(60)) args.push('offset: -1')
    const distinct = [
      ...new Map(args.filter(Boolean).map((arg) => [arg.split(':')[0], arg])).values(),
    ]
    return distinct.length === 0 ? '' : `(${distinct.join(', ')})`
  }

  #object(record: RandomRecord, depth: number): string {
    const fields = ['id', '__typename', ...record.fields.map(({ name }) => camel(name))]
    const chosen = this.#draw(fc.subarray(fields, { minLength: 1 })).map((name) => this.#key(name))
    if (depth > 0) {
      for (const { name, target } of record.owners)
        if (this.#chance(3)) chosen.push(`${this.#key(name)} ${this.#object(target, depth - 1)}`)
      for (const { name, target } of [...record.lists, ...record.pairs])
        if (this.#chance(3)) chosen.push(this.#related(name, target, depth))
    }
    const body = this.#draw(fc.shuffledSubarray(chosen, { minLength: chosen.length })).join(' ')
    if (this.#chance(6)) return `{ ... on ${record.name} { ${body} } id }`
    if (!this.#chance(8)) return `{ ${body} }`
    const name = `F${this.#names++}`
    this.#fragments.push(`fragment ${name} on ${record.name} { ${body} }`)
    return `{ ...${name} __typename }`
  }

  #related(name: string, target: RandomRecord, depth: number): string {
    const alias = `x${this.#names++}`
    return `${alias}: ${name}${this.#list(target)} ${this.#object(target, depth - 1)}`
  }

  /** A field, perhaps under another name, perhaps skipped. */
  #key(name: string): string {
    const alias = this.#chance(5) ? `a${this.#names++}: ` : ''
    if (!this.#chance(10)) return `${alias}${name}`
    const directive = this.#draw(fc.constantFrom('skip', 'include'))
    // With a separate alias, because two fields of one key must not differ.
    return `d${this.#names++}: ${name} @${directive}(if: ${this.#writeValue('Boolean!', this.#chance(2))})`
  }

  #where(record: RandomRecord): string {
    if (this.#chance(2)) return ''
    return `where: ${this.#writeValue(`${record.name}Where`, this.#conditions(record, 2))}`
  }

  #conditions(record: RandomRecord, depth: number): Record<string, unknown> {
    const where: Record<string, unknown> = {}
    for (const field of this.#draw(
      fc.subarray(record.fields, { maxLength: Math.min(2, record.fields.length) }),
    ))
      where[camel(field.name)] = this.#condition(field)
    if (depth === 0) return where
    if (this.#chance(5)) where.id = { in: [1, 2, 3].map(String) }
    if (record.isUuid) delete where.id
    if (this.#chance(4)) where.not = this.#conditions(record, depth - 1)
    if (this.#chance(4))
      where.or = [this.#conditions(record, depth - 1), this.#conditions(record, depth - 1)]
    const relations = [...record.owners, ...record.lists, ...record.pairs]
    if (relations.length > 0 && this.#chance(3)) {
      const { name, target } = this.#pick(relations)
      where[name] = this.#conditions(target, depth - 1)
    }
    return where
  }

  #condition({ kind, rules }: RandomField): unknown {
    if (this.#chance(5) || kind === 'json' || rules.list === true)
      return { isNull: this.#chance(2) }
    const value = this.#value(kind, rules)
    if (kind === 'blob' || kind === 'boolean' || rules.oneOf !== undefined)
      return this.#draw(
        fc.constantFrom({ eq: value }, { ne: value }, { in: [value] }, { ne: null }),
      )
    const operators = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte']
    if (kind === 'string' || kind === 'text') operators.push('like', 'ilike')
    const operator = this.#draw(fc.constantFrom(...operators))
    if (operator.endsWith('like'))
      return { [operator]: this.#draw(fc.constantFrom('a%', '%A', '_')) }
    return this.#chance(6) ? { in: [value, this.#value(kind, rules)] } : { [operator]: value }
  }

  #value(kind: string, rules: RandomField['rules']): unknown {
    const value = this.#draw(scalar(kind, rules))
    if (rules.oneOf !== undefined) return colorNames[String(value)]
    if (kind === 'integer') return Math.max(-2147483648, Math.min(2147483647, Number(value)))
    return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
  }

  #order(record: RandomRecord): string {
    if (this.#chance(2)) return ''
    const sortable = record.fields.filter(
      ({ kind, rules }) => kind !== 'json' && kind !== 'blob' && rules.list !== true,
    )
    const names = this.#draw(fc.subarray(['id', ...sortable.map(({ name }) => camel(name))]))
    const directions = ['asc', 'desc', 'asc_nulls_first', 'desc_nulls_first']
    const terms = names.map((name) => ({
      [name]: new Name(this.#draw(fc.constantFrom(...directions))),
    }))
    return `orderBy: ${this.#writeValue(`[${record.name}Order!]`, terms)}`
  }

  /** A value, written out or as a variable. */
  #writeValue(type: string, value: unknown): string {
    if (this.#chance(2)) return print(value)
    const name = `v${this.#names++}`
    this.#declared.push(`$${name}: ${type}`)
    this.#variables[name] = JSON.parse(JSON.stringify(value)) as unknown
    return `$${name}`
  }

  /** Chooses by index, so that counterexamples stay short. */
  #pick<T>(list: readonly T[]): T {
    return list[this.#int(0, list.length - 1)] as T
  }

  #int(min: number, max: number): number {
    return this.#draw(fc.integer({ min, max }))
  }

  /** True once in so many times. */
  #chance(times: number): boolean {
    return this.#int(1, times) === 1
  }
}

/** A name of an enum's value, which is written without quotes. */
class Name {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }

  toJSON(): string {
    return this.name
  }
}

const colorNames: Readonly<Record<string, Name>> = {
  red: new Name('red'),
  'light-blue': new Name('light_blue'),
  "o'clock": new Name('o_clock'),
  '3': new Name('_3'),
}

function print(value: unknown): string {
  if (value instanceof Name) return value.name
  if (Array.isArray(value)) return `[${value.map(print).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{ ${Object.entries(value)
    .map(([key, inner]) => `${key}: ${print(inner)}`)
    .join(', ')} }`
}

export function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
