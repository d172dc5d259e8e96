/**
 * Writes the code of a class's check: a function that converts a JSON object to an instance and collects violations. Each
 * value is read once, tested, and set on the instance.
 */
import { isMap } from '../core/json.js'
import { quote, readProperty, type FunctionSet } from './function-set.js'
import { type Constraint, readConstraints } from './class-validator.js'
import {
  writeClassValidator,
  type RuleScope,
  type WrittenConstraints,
} from './check-constraints.js'
import {
  addDepthViolation,
  addMessage,
  addUnknownKeys,
  addViolation,
  maxViolations,
  prefixPaths,
} from './violations.js'
import { toTimestamp } from './kinds/dates.js'
import { toProperty, maxDepth } from './kinds/table.js'
import { toConditionalResult } from './constraint-runner.js'
import { writeRules, writeTextForm } from './rule-code.js'
import type { MessageRule } from './rules.js'
import { readShape, type ShapeField, type Shape } from './shape.js'
import type { Problems } from '../errors/problems.js'
import { skipsObjectRules, securedField } from './field.js'
import { instanceConstructorOf } from './instance.js'

interface FieldPlan {
  readonly field: ShapeField
  readonly constraints: readonly Constraint[]
  readonly partial: boolean
  /** The class initialises properties. */
  readonly hasInitialValues: boolean
  readonly scope: RuleScope
}

/** Writes the code of one field, in which `v` is the value and `o` the instance. */
class FieldWriter {
  readonly #writer: CheckWriter
  readonly #plan: FieldPlan
  readonly #target: string
  readonly #path: string

  constructor(writer: CheckWriter, plan: FieldPlan) {
    this.#writer = writer
    this.#plan = plan
    this.#target = `o[${quote(plan.field.name)}]`
    this.#path = quote(plan.field.name)
  }

  write(): string {
    const { field, constraints } = this.#plan
    const constraintCode = writeClassValidator(field, constraints, this.#writer, this.#plan.scope)
    const count = this.#writer.options.unknownKeys === 'refuse' ? 'if (v !== undefined) sent++' : ''
    const body =
      field.declared === undefined
        ? this.#writeUndeclared(constraintCode)
        : this.#writeDeclared(constraintCode)
    return `{ let v = ${readProperty('input', field.name)}\n${count}\n${body} }`
  }

  writeObjectRules(): string {
    const { field, constraints } = this.#plan
    const constraintCode = writeClassValidator(field, constraints, this.#writer, 'object')
    if (constraintCode.code === '' && !constraintCode.isConditional) return ''
    return [
      `{ const v = ${readProperty('o', field.name)}`,
      `if (v === undefined) { ${constraintCode.isConditional ? this.#writeAbsent(constraintCode) : ''} }`,
      `else if (v === null) { ${constraintCode.isConditional ? this.#writeNull(constraintCode) : ''} }`,
      `else { ${constraintCode.code} } }`,
    ].join('\n')
  }

  /** For a field with `@Field`: checks kind and rules, then class-validator's rules if there is a value. */
  #writeDeclared(constraintCode: WrittenConstraints): string {
    const { field } = this.#plan
    const present = field.list
      ? this.#writeList(constraintCode)
      : this.#writeValue(field, constraintCode)
    return [
      `if (v === undefined) { ${this.#writeAbsent(constraintCode)} }`,
      `else if (v === null) { ${this.#target} = null; ${this.#writeNull(constraintCode)} }`,
      `else { ${present} }`,
    ].join('\n')
  }

  #writeAbsent(constraintCode: WrittenConstraints): string {
    const { field, partial, hasInitialValues, scope } = this.#plan
    if (partial) return ''
    if (scope === 'object') return this.#writeConditional(constraintCode, 'required', 'is required')
    const value = field.declared?.default
    if (value !== undefined) return `${this.#target} = ${this.#writeDefault(value)}`
    if (hasInitialValues && field.rules.default !== undefined) return ''
    // A condition may make the key optional. With IsOptional the field is optional already.
    if (constraintCode.isConditional)
      return scope === 'field'
        ? ''
        : this.#writeConditional(constraintCode, 'required', 'is required')
    return field.optional ? '' : this.#writeViolation('required', 'is required')
  }

  #writeNull(constraintCode: WrittenConstraints): string {
    if (this.#plan.field.nullable) return ''
    if (constraintCode.isConditional)
      return this.#plan.scope === 'field'
        ? ''
        : this.#writeConditional(constraintCode, 'type', 'must not be null')
    return this.#writeViolation('type', 'must not be null')
  }

  #writeConditional(constraintCode: WrittenConstraints, code: string, text: string): string {
    const message = this.#plan.field.messages[code as MessageRule]
    const make = this.#writer.functions.constant(toConditionalResult)
    return constraintCode.defer(
      `${make}(${quote(code)}, ${quote(message ?? text)}, ${message !== undefined})`,
    )
  }

  #writeDefault(value: unknown): string {
    const { functions } = this.#writer
    // The same time for all fields of an object.
    const { now } = this.#plan.field.entry
    if (value === 'now' && now !== undefined) {
      const clock = functions.constant(this.#writer.options.now)
      return `${functions.constant(now)}(now ??= new Date(${clock}()).toISOString())`
    }
    if (typeof value === 'function') return `${functions.constant(value)}()`
    if (value === null) return functions.constant(value)
    if (typeof value !== 'object')
      return functions.constant(toProperty(value, this.#plan.field.entry))
    return `structuredClone(${functions.constant(value)})`
  }

  #writeValue(field: ShapeField, constraintCode: WrittenConstraints): string {
    const store = `${this.#target} = v`
    const value = this.#writeItem(field, this.#path)
    return `${store}; ${value.test} else { ${value.build}; ${store}; ${constraintCode.code} }`
  }

  #writeList(constraintCode: WrittenConstraints): string {
    const { field } = this.#plan
    const { minItems, maxItems } = field.declared ?? {}
    const item = this.#writeItem(field, `${quote(`${field.name}.`)} + i`)
    const sizes = [
      minItems === undefined
        ? ''
        : `if (v.length < ${minItems}) ${this.#writeViolation('minItems', `must have at least ${itemCount(minItems)}`, minItems)}`,
      maxItems === undefined
        ? ''
        : `if (v.length > ${maxItems}) ${this.#writeViolation('maxItems', `must have at most ${itemCount(maxItems)}`, maxItems)} else`,
    ]
    return [
      `${this.#target} = v`,
      `if (!Array.isArray(v)) ${this.#writeViolation('type', 'must be a list')}`,
      `else { ${sizes.join('\n')} {`,
      'const list = []',
      `for (let i = 0, input = v; i < input.length && violations.length < ${maxViolations}; i++) {`,
      'let v = input[i]',
      `${item.test} else { ${item.build} }`,
      'list.push(v) }',
      `${this.#target} = v = list; ${constraintCode.code} } }`,
    ].join('\n')
  }

  /** The code for one value: `test` is an `if` that refuses it, `build` follows in its `else`, converts and checks rules. */
  #writeItem(field: ShapeField, path: string): { test: string; build: string } {
    const { functions } = this.#writer
    const violation = (code: string, text: string, value?: unknown): string =>
      this.#writeViolationAt(path, code, text, value)
    if (field.nested !== undefined) {
      const test = `if (!${functions.constant(isMap)}(v)) ${violation('type', 'must be an object')}`
      return { test, build: this.#writeNested(field.nested, path) }
    }
    const { label } = field.entry
    const { tested, converted } = this.#writeKind(field)
    const conversions = [converted, writeTextForm(field, functions)].filter(
      (code) => code !== undefined,
    )
    const rules = writeRules(field, functions).map(
      ({ code, text, value, isBroken }) => `if (${isBroken}) ${violation(code, text, value)}`,
    )
    return {
      test: `if (!${tested}) ${violation('type', `must be ${label}`)}`,
      build: [...conversions.map((code) => `v = ${code}`), ...rules].join('\n'),
    }
  }

  /** A program may pass the JSON form or the property's value. */
  #writeKind({ entry }: ShapeField): { tested: string; converted: string | undefined } {
    const { functions, options } = this.#writer
    const { test, read, isPropertyValue } = entry
    const tested = typeof test === 'string' ? `(${test})` : `${functions.constant(test)}(v)`
    const converted = typeof read === 'function' ? `${functions.constant(read)}(v)` : read
    if (isPropertyValue === undefined || options.from === 'client') return { tested, converted }
    const isConverted = `${functions.constant(isPropertyValue)}(v)`
    return {
      tested: `(${isConverted} || ${tested})`,
      converted: converted && `${isConverted} ? v : ${converted}`,
    }
  }

  /** Replaces the object `v` by an instance of the nested class. */
  #writeNested(type: NonNullable<ShapeField['nested']>, path: string): string {
    const { functions, options } = this.#writer
    const name = this.#writer.functionFor(readShape(type(), options.problems))
    const prefix = functions.constant(prefixPaths)
    return [
      'const before = violations.length, deferredBefore = deferred.length',
      `v = ${name}(v, violations, deferred, depth + 1)`,
      `if (violations.length > before) ${prefix}(violations, before, ${path})`,
      `if (deferred.length > deferredBefore) ${prefix}(deferred, deferredBefore, ${path})`,
    ].join('\n')
  }

  /** For a field without `@Field`: the value is set unchanged, and only class-validator's rules check it. */
  #writeUndeclared(constraintCode: WrittenConstraints): string {
    const { field, partial, hasInitialValues } = this.#plan
    const initial = hasInitialValues ? `if (v === undefined) v = ${this.#target}` : ''
    const store = `if (v !== undefined) ${this.#target} = v`
    const rules = partial ? `if (v !== undefined) { ${constraintCode.code} }` : constraintCode.code
    const nested = field.nested === undefined ? '' : constraintCode.build(field.nested)
    return [initial, this.#writeDate(), nested, store, rules].join('\n')
  }

  /** JSON has no dates, so texts are converted for class-validator's rules about a Date. */
  #writeDate(): string {
    if (!this.#plan.constraints.some(({ name }) => dateRules.has(name))) return ''
    const read = this.#writer.functions.constant(readDates)
    return `if (typeof v === 'string' || Array.isArray(v)) v = ${read}(v)`
  }

  #writeViolation(code: string, text: string, value?: unknown): string {
    return this.#writeViolationAt(this.#path, code, text, value)
  }

  #writeViolationAt(path: string, code: string, text: string, value: unknown): string {
    const { functions } = this.#writer
    const rest = value === undefined ? '' : `, ${functions.constant(value)}`
    const message = this.#plan.field.messages[code as MessageRule]
    const add = functions.constant(message === undefined ? addViolation : addMessage)
    return `${add}(violations, ${path}, ${quote(code)}, ${quote(message ?? text)}${rest});`
  }
}

/** class-validator's rules about a Date. */
const dateRules: ReadonlySet<string> = new Set(['isDate', 'minDate', 'maxDate'])

/** @returns values that are not timestamps unchanged, so that the rule reports them */
function readDates(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(readDate)
  return readDate(value)
}

function readDate(value: unknown): unknown {
  const timestamp = typeof value === 'string' ? toTimestamp(value) : undefined
  return timestamp === undefined ? value : new Date(timestamp)
}

function itemCount(count: number): string {
  return `${count} item${count === 1 ? '' : 's'}`
}

export interface CheckWriterOptions {
  readonly unknownKeys: 'refuse' | 'drop'
  /** Every key may be absent, and defaults are not applied. */
  readonly partial: boolean
  /** Only a program may set read-only and hidden fields and generated keys. */
  readonly from: 'client' | 'program'
  readonly groups: readonly string[] | undefined
  readonly problems: Problems | undefined
  readonly scope: RuleScope
  /** The time that `default: 'now'` takes. */
  readonly now: () => number
}

/** Writes the functions of a shape and of its nested shapes. */
export class CheckWriter {
  readonly functions: FunctionSet
  readonly options: CheckWriterOptions
  /** True once a rule was written that runs after the object is complete. */
  hasDeferredRules = false
  readonly #names = new Map<Shape, string>()
  #count = 0

  constructor(functions: FunctionSet, options: CheckWriterOptions) {
    this.functions = functions
    this.options = options
  }

  /**
   * Returns the name of the shape's function `(input, violations, deferred, depth) => instance`, which the first call writes.
   *
   * @param isRoot whether it is the function for the complete input; nested functions are never `partial`
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
    // Before the body is written, because a class may contain itself.
    if (!isSpecial) this.#names.set(shape, name)
    const text =
      scope === 'object'
        ? this.#writeObjectRules(name, shape)
        : this.#writeFunction(name, shape, root)
    this.functions.add(text)
    return name
  }

  /** Checks only the rules that need the complete object, which exists already. */
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
    const writableFields = shape.fields.filter(({ readOnly, hidden, rules }) =>
      options.from === 'program' ? rules.generated !== true : !(readOnly || hidden),
    )
    const fields = writableFields.map((field) => {
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
    const names = writableFields.map((field) => field.name)
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
      // The constructor defines every declared property. Those that were not sent are removed.
      hasInitialValues && !partial
        ? 'for (const key in o) if (o[key] === undefined) delete o[key]'
        : '',
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
