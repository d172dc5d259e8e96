/** Makes GraphQL enums of fields with `oneOf` and `enum`. Source: decisions, Small print: GraphQL. */
import type { Problem } from '../../errors/declaration-error.js'
import type { ShapeField } from '../../fields/shape.js'
import type { EnumModel } from './model.js'
import { isGraphqlName } from './names.js'

export class EnumReader {
  readonly #enums = new Map<string, EnumModel>()
  readonly #problems: Problem[]

  constructor(problems: Problem[]) {
    this.#problems = problems
  }

  all(): readonly EnumModel[] {
    return [...this.#enums.values()]
  }

  /** @returns `undefined` for a field that is no enum; fields that name the same enum share it */
  read(where: string, { rules, kind }: ShapeField): EnumModel | undefined {
    const { enum: name, oneOf } = rules
    if (name === undefined || oneOf === undefined) return undefined
    if (kind === 'boolean' || !isGraphqlName(name)) {
      const message = `${where}: "${name}" cannot be an enum${kind === 'boolean' ? ' of true and false' : "'s name"}.`
      return this.#fault(message, 'Remove enum, or give it a name of letters, digits and _.')
    }
    const made = toEnum(name, oneOf as readonly (string | number)[])
    const known = this.#enums.get(name)
    if (known !== undefined) {
      if (sameValues(known, made)) return known
      const message = `${where}: the enum ${name} has other values elsewhere.`
      return this.#fault(message, 'Give one of them another name.')
    }
    if (made.values.size < oneOf.length || [...made.values.keys()].some((one) => !isValue(one))) {
      const message = `${where}: the values of the enum ${name} do not make different names.`
      return this.#fault(message, 'Remove enum: the field stays a String.')
    }
    this.#enums.set(name, made)
    return made
  }

  #fault(message: string, remedy: string): EnumModel | undefined {
    this.#problems.push({ code: 'GRAPHQL_ENUM', message, remedy })
    return undefined
  }
}

function toEnum(name: string, oneOf: readonly (string | number)[]): EnumModel {
  const values = new Map(oneOf.map((value) => [toValueName(value), value]))
  const isPlain = [...values].every(([key, value]) => key === value)
  return Object.freeze({ name, values, isPlain })
}

/** `light-blue` is `light_blue`, `3` is `_3`. */
function toValueName(value: string | number): string {
  const name = String(value).replace(/[^A-Za-z0-9_]/g, '_')
  return /^\d|^$/.test(name) ? `_${name}` : name
}

function isValue(name: string): boolean {
  return isGraphqlName(name) && name !== 'true' && name !== 'false' && name !== 'null'
}

function sameValues(one: EnumModel, other: EnumModel): boolean {
  const values = [...one.values.values()]
  return (
    values.length === other.values.size &&
    values.every((value) => [...other.values.values()].includes(value))
  )
}
