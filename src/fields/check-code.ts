/**
 * Writes the code of a shape's check: one function per class, from a JSON object to an instance, which gathers faults.
 * Each value is read once, tested, and set on the instance; nothing is looked up by name at run time.
 */
import type { Problem } from '../errors/declaration-error.js'
import type { FunctionSet } from './function-set.js'
import { addDepthViolation, addUnknownKeys, dropUndefined } from './check-runtime.js'
import { readConstraints } from './class-validator.js'
import type { RuleScope } from './check-constraints.js'
import { FieldWriter } from './field-check.js'
import { skipsObjectRules, securedField } from './field.js'
import { instanceConstructorOf } from './instance.js'
import { maxDepth } from './kinds/json.js'
import type { Shape } from './shape.js'

export interface CheckOptions {
  readonly unknownKeys: 'refuse' | 'drop'
  /** Every key may be absent, and nothing is put in its place. */
  readonly partial: boolean
  /** A program may set what a client may not: read-only and hidden fields, given keys. */
  readonly from: 'client' | 'program'
  readonly groups: readonly string[] | undefined
  readonly problems: Problem[] | undefined
  readonly scope: RuleScope
  /** The time that `default: 'now'` takes. */
  readonly now: () => number
}

/** Writes the functions of a shape and of every shape it holds. */
export class CheckWriter {
  readonly functions: FunctionSet
  readonly options: CheckOptions
  /** True once a rule was written that runs after the object is complete. */
  hasDeferredRules = false
  readonly #names = new Map<Shape, string>()
  #count = 0

  constructor(functions: FunctionSet, options: CheckOptions) {
    this.functions = functions
    this.options = options
  }

  /**
   * The name of the shape's function `(input, violations, deferred, depth) => instance`, written when first asked for.
   *
   * @param isRoot the function for the input itself, which alone may be `partial`
   */
  functionFor(shape: Shape, isRoot = false): string {
    const { options } = this
    const skipsObject = skipsObjectRules.read(shape.type) === true
    const scope = skipsObject ? 'field' : isRoot ? options.scope : 'all'
    const root = { partial: isRoot && options.partial, scope }
    const isSpecial = root.partial || scope !== 'all'
    const cached = isSpecial ? undefined : this.#names.get(shape)
    if (cached !== undefined) return cached
    const name = `check${this.#count++}`
    // Before the body is written, which may come back here: a tree's node holds nodes.
    if (!isSpecial) this.#names.set(shape, name)
    const text =
      scope === 'object'
        ? this.#writeObjectRules(name, shape)
        : this.#writeFunction(name, shape, root)
    this.functions.add(text)
    return name
  }

  /** Runs only the rules that look at the whole object, which exists already. */
  #writeObjectRules(name: string, shape: Shape): string {
    const fields = shape.fields.map((field) => {
      const { constraints } = field
      const plan = {
        field,
        constraints,
        partial: false,
        hasInitialValues: false,
        scope: 'object',
      } as const
      return new FieldWriter(this, plan).writeObjectRules()
    })
    return [`function ${name}(o, violations, deferred) {`, ...fields, 'return o', '}'].join('\n')
  }

  #writeFunction(
    name: string,
    shape: Shape,
    { partial, scope }: { partial: boolean; scope: RuleScope },
  ): string {
    const { functions, options } = this
    const { Constructor, hasInitialValues } = instanceConstructorOf(shape.type)
    const constraints = options.groups && readConstraints(shape.type, options.groups)
    const cached = shape.fields.filter(
      ({ readOnly, hidden }) => options.from === 'program' || !(readOnly || hidden),
    )
    const fields = cached.map((field) => {
      const fieldConstraints =
        constraints === undefined ? field.constraints : (constraints.get(field.name) ?? [])
      const keepsInitialValues = hasInitialValues && !partial
      const plan = {
        field,
        constraints: fieldConstraints,
        partial,
        hasInitialValues: keepsInitialValues,
        scope,
      }
      return new FieldWriter(this, plan).write()
    })
    const rejectsUnknown = options.unknownKeys === 'refuse'
    const names = cached.map((field) => field.name)
    const isVisible = (name: string): boolean => securedField.read(shape.type, name) !== true
    const knownNames = functions.constant(new Set(names))
    const suggested = functions.constant(names.filter(isVisible))
    return [
      `function ${name}(input, violations, deferred, depth) {`,
      `const o = new ${functions.constant(partial && hasInitialValues ? constructorWithoutInitialValues(shape) : Constructor)}()`,
      `if (depth > ${maxDepth}) { ${functions.constant(addDepthViolation)}(violations); return o }`,
      rejectsUnknown ? 'let sent = 0' : '',
      'let now',
      ...fields,
      rejectsUnknown ? 'let keys = 0; for (const key in input) keys++' : '',
      rejectsUnknown
        ? `if (keys !== sent) ${functions.constant(addUnknownKeys)}(input, ${knownNames}, ${suggested}, violations)`
        : '',
      hasInitialValues && !partial ? `${functions.constant(dropUndefined)}(o)` : '',
      'return o',
      '}',
    ].join('\n')
  }
}

/** An update does not add initial values. */
function constructorWithoutInitialValues(shape: Shape): unknown {
  const Bare = function () {}
  Object.defineProperty(Bare, 'prototype', { value: shape.type.prototype as object })
  return Bare
}
