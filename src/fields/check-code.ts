/**
 * Writes the code of a shape's check: one function per class, from a JSON object to an instance, which gathers faults.
 * Each value is read once, tested, and set on the instance; nothing is looked up by name at run time.
 */
import type { Problem } from '../errors/declaration-error.js'
import type { FunctionSet } from './function-set.js'
import { addDeepFault, addUnknownKeys, dropUndefined } from './check-runtime.js'
import { readConstraints } from './class-validator.js'
import type { RulePart } from './check-constraints.js'
import { FieldWriter } from './field-check.js'
import { ownRulesOnly, securedField } from './field.js'
import { makerOf } from './instance.js'
import { deepest } from './kinds/json.js'
import type { Shape } from './shape.js'

export interface CheckOptions {
  readonly unknownKeys: 'refuse' | 'drop'
  /** Every key may be absent, and nothing is put in its place. */
  readonly partial: boolean
  /** A program may set what a client may not: read-only and hidden fields, given keys. */
  readonly from: 'client' | 'program'
  readonly groups: readonly string[] | undefined
  readonly problems: Problem[] | undefined
  readonly part: RulePart
  /** The time that `default: 'now'` takes. */
  readonly now: () => number
}

/** Writes the functions of a shape and of every shape it holds. */
export class CheckWriter {
  readonly functions: FunctionSet
  readonly options: CheckOptions
  /** True once a rule was written that runs after the object is complete. */
  waits = false
  readonly #names = new Map<Shape, string>()
  #count = 0

  constructor(functions: FunctionSet, options: CheckOptions) {
    this.functions = functions
    this.options = options
  }

  /**
   * The name of the shape's function `(input, faults, late, depth) => instance`, written when first asked for.
   *
   * @param isRoot the function for the input itself, which alone may be `partial`
   */
  functionFor(shape: Shape, isRoot = false): string {
    const { options } = this
    const isOwn = ownRulesOnly.read(shape.type) === true
    const part = isOwn ? 'own' : isRoot ? options.part : 'all'
    const root = { partial: isRoot && options.partial, part }
    const isSpecial = root.partial || part !== 'all'
    const known = isSpecial ? undefined : this.#names.get(shape)
    if (known !== undefined) return known
    const name = `check${this.#count++}`
    // Before the body is written, which may come back here: a tree's node holds nodes.
    if (!isSpecial) this.#names.set(shape, name)
    const text =
      part === 'row' ? this.#writeRowRules(name, shape) : this.#writeFunction(name, shape, root)
    this.functions.add(text)
    return name
  }

  /** Runs only the rules that look at the whole object, which exists already. */
  #writeRowRules(name: string, shape: Shape): string {
    const fields = shape.fields.map((field) => {
      const { constraints } = field
      const plan = { field, constraints, partial: false, constructs: false, part: 'row' } as const
      return new FieldWriter(this, plan).writeRowRules()
    })
    return [`function ${name}(o, faults, late) {`, ...fields, 'return o', '}'].join('\n')
  }

  #writeFunction(
    name: string,
    shape: Shape,
    { partial, part }: { partial: boolean; part: RulePart },
  ): string {
    const { functions, options } = this
    const { Make, constructs } = makerOf(shape.type)
    const constraints = options.groups && readConstraints(shape.type, options.groups)
    const known = shape.fields.filter(
      ({ readOnly, hidden }) => options.from === 'program' || !(readOnly || hidden),
    )
    const fields = known.map((field) => {
      const chosen =
        constraints === undefined ? field.constraints : (constraints.get(field.name) ?? [])
      const constructed = constructs && !partial
      const plan = { field, constraints: chosen, partial, constructs: constructed, part }
      return new FieldWriter(this, plan).write()
    })
    const refuse = options.unknownKeys === 'refuse'
    const names = known.map((field) => field.name)
    const isShown = (name: string): boolean => securedField.read(shape.type, name) !== true
    const knownNames = functions.constant(new Set(names))
    const suggested = functions.constant(names.filter(isShown))
    return [
      `function ${name}(input, faults, late, depth) {`,
      `const o = new ${functions.constant(partial && constructs ? bareMaker(shape) : Make)}()`,
      `if (depth > ${deepest}) { ${functions.constant(addDeepFault)}(faults); return o }`,
      refuse ? 'let sent = 0' : '',
      'let now',
      ...fields,
      refuse ? 'let keys = 0; for (const key in input) keys++' : '',
      refuse
        ? `if (keys !== sent) ${functions.constant(addUnknownKeys)}(input, ${knownNames}, ${suggested}, faults)`
        : '',
      constructs && !partial ? `${functions.constant(dropUndefined)}(o)` : '',
      'return o',
      '}',
    ].join('\n')
  }
}

/** An update does not add initial values. */
function bareMaker(shape: Shape): unknown {
  const Bare = function () {}
  Object.defineProperty(Bare, 'prototype', { value: shape.type.prototype as object })
  return Bare
}
