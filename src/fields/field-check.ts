/** Writes one field's part of a check: kind and rules, then class-validator's. Source: decisions, Responses. */
import { isMap } from '../core/json.js'
import type { CheckWriter } from './check-code.js'
import { quote, readProperty } from './function-set.js'
import type { Constraint } from './class-validator.js'
import { writeClassValidator, type RulePart, type WrittenConstraints } from './check-constraints.js'
import { addFault, mostFaults, prefixPaths } from './faults.js'
import { toMoment } from './kinds/datetime.js'
import { toProperty } from './kinds/table.js'
import { holdFault } from './late-constraints.js'
import { writeRules, writeTextForm } from './rule-code.js'
import { readShape, type ShapeField } from './shape.js'

export interface FieldPlan {
  readonly field: ShapeField
  readonly constraints: readonly Constraint[]
  readonly partial: boolean
  /** The instance comes with initial values of its own. */
  readonly constructs: boolean
  readonly part: RulePart
}

/** Writes the block of one field; in it `v` is the value, `o` the instance. */
export class FieldWriter {
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
    const extra = writeClassValidator(field, constraints, this.#writer, this.#plan.part)
    const count = this.#writer.options.unknownKeys === 'refuse' ? 'if (v !== undefined) sent++' : ''
    const body =
      field.declared === undefined ? this.#writeBorrowed(extra) : this.#writeDeclared(extra)
    return `{ let v = ${readProperty('input', field.name)}\n${count}\n${body} }`
  }

  writeRowRules(): string {
    const { field, constraints } = this.#plan
    const extra = writeClassValidator(field, constraints, this.#writer, 'row')
    if (extra.code === '' && !extra.conditional) return ''
    return [
      `{ const v = ${readProperty('o', field.name)}`,
      `if (v === undefined) { ${extra.conditional ? this.#writeAbsent(extra) : ''} }`,
      `else if (v === null) { ${extra.conditional ? this.#writeNull(extra) : ''} }`,
      `else { ${extra.code} } }`,
    ].join('\n')
  }

  /** With `@Field`: kind and rules first, then class-validator's for a value that is there. */
  #writeDeclared(extra: WrittenConstraints): string {
    const { field } = this.#plan
    const present = field.list ? this.#writeList(extra) : this.#writeValue(field, extra)
    return [
      `if (v === undefined) { ${this.#writeAbsent(extra)} }`,
      `else if (v === null) { ${this.#target} = null; ${this.#writeNull(extra)} }`,
      `else { ${present} }`,
    ].join('\n')
  }

  #writeAbsent(extra: WrittenConstraints): string {
    const { field, partial, constructs } = this.#plan
    const { part } = this.#plan
    if (partial) return ''
    if (part === 'row') return this.#writeHeld(extra, 'required', 'is required')
    const value = field.declared?.default
    if (value !== undefined) return `${this.#target} = ${this.#writeDefault(value)}`
    if (constructs && field.rules.default !== undefined) return ''
    // A condition may still make the key optional; IsOptional already has.
    if (extra.conditional)
      return part === 'own' ? '' : this.#writeHeld(extra, 'required', 'is required')
    return field.optional ? '' : this.#fault('required', 'is required')
  }

  #writeNull(extra: WrittenConstraints): string {
    if (this.#plan.field.nullable) return ''
    if (extra.conditional)
      return this.#plan.part === 'own' ? '' : this.#writeHeld(extra, 'type', 'must not be null')
    return this.#fault('type', 'must not be null')
  }

  #writeHeld(extra: WrittenConstraints, code: string, text: string): string {
    const held = `${this.#writer.functions.constant(holdFault)}(${quote(code)}, ${quote(text)})`
    return extra.wait(held)
  }

  #writeDefault(value: unknown): string {
    const { functions } = this.#writer
    // One moment for all fields of an object, so that they agree.
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

  #writeValue(field: ShapeField, extra: WrittenConstraints): string {
    const store = `${this.#target} = v`
    const value = this.#writeItem(field, this.#path)
    return `${store}; ${value.test} else { ${value.build}; ${store}; ${extra.code} }`
  }

  #writeList(extra: WrittenConstraints): string {
    const { field } = this.#plan
    const { minItems, maxItems } = field.declared ?? {}
    const item = this.#writeItem(field, `${quote(`${field.name}.`)} + i`)
    const sizes = [
      minItems === undefined
        ? ''
        : `if (v.length < ${minItems}) ${this.#fault('minItems', `must have at least ${items(minItems)}`, minItems)}`,
      maxItems === undefined
        ? ''
        : `if (v.length > ${maxItems}) ${this.#fault('maxItems', `must have at most ${items(maxItems)}`, maxItems)} else`,
    ]
    return [
      `${this.#target} = v`,
      `if (!Array.isArray(v)) ${this.#fault('type', 'must be a list')}`,
      `else { ${sizes.join('\n')} {`,
      'const list = []',
      `for (let i = 0, input = v; i < input.length && faults.length < ${mostFaults}; i++) {`,
      'let v = input[i]',
      `${item.test} else { ${item.build} }`,
      'list.push(v) }',
      `${this.#target} = v = list; ${extra.code} } }`,
    ].join('\n')
  }

  /** The code that judges one value: `test` refuses it (and wants an `else`), `build` holds the rules and converts. */
  #writeItem(field: ShapeField, path: string): { test: string; build: string } {
    const { functions } = this.#writer
    const fault = (code: string, text: string, value?: unknown): string =>
      this.#addFault(path, code, text, value)
    if (field.nested !== undefined) {
      const test = `if (!${functions.constant(isMap)}(v)) ${fault('type', 'must be an object')}`
      return { test, build: this.#writeNested(field.nested, path) }
    }
    const { noun } = field.entry
    const { tested, converted } = this.#writeKind(field)
    const made = [converted, writeTextForm(field)].filter((code) => code !== undefined)
    const rules = writeRules(field, functions).map(
      ({ code, text, value, breaks }) => `if (${breaks}) ${fault(code, text, value)}`,
    )
    return {
      test: `if (!${tested}) ${fault('type', `must be ${noun}`)}`,
      build: [...made.map((code) => `v = ${code}`), ...rules].join('\n'),
    }
  }

  /** A program may give the JSON form or the property's own form. */
  #writeKind({ entry }: ShapeField): { tested: string; converted: string | undefined } {
    const { functions, options } = this.#writer
    const { test, read, holds } = entry
    const tested = typeof test === 'string' ? `(${test})` : `${functions.constant(test)}(v)`
    const converted = typeof read === 'function' ? `${functions.constant(read)}(v)` : read
    if (holds === undefined || options.from === 'client') return { tested, converted }
    const held = `${functions.constant(holds)}(v)`
    return {
      tested: `(${held} || ${tested})`,
      converted: converted && `${held} ? v : ${converted}`,
    }
  }

  /** Replaces `v`, an object, by the instance that its class's function makes of it. */
  #writeNested(type: NonNullable<ShapeField['nested']>, path: string): string {
    const { functions, options } = this.#writer
    const name = this.#writer.functionFor(readShape(type(), options.problems))
    const prefix = functions.constant(prefixPaths)
    return [
      'const before = faults.length, waiting = late.length',
      `v = ${name}(v, faults, late, depth + 1)`,
      `if (faults.length > before) ${prefix}(faults, before, ${path})`,
      `if (late.length > waiting) ${prefix}(late, waiting, ${path})`,
    ].join('\n')
  }

  /** Known to class-validator alone: the value goes on the instance as it is and its rules decide. */
  #writeBorrowed(extra: WrittenConstraints): string {
    const { field, partial, constructs } = this.#plan
    const initial = constructs ? `if (v === undefined) v = ${this.#target}` : ''
    const store = `if (v !== undefined) ${this.#target} = v`
    const rules = partial ? `if (v !== undefined) { ${extra.code} }` : extra.code
    const nested = field.nested === undefined ? '' : extra.build(field.nested)
    return [initial, this.#writeDate(), nested, store, rules].join('\n')
  }

  /** JSON has no dates, so rules of class-validator about a Date get one made of the text. */
  #writeDate(): string {
    if (!this.#plan.constraints.some(({ name }) => dateRules.has(name))) return ''
    const read = this.#writer.functions.constant(readDates)
    return `if (typeof v === 'string' || Array.isArray(v)) v = ${read}(v)`
  }

  #fault(code: string, text: string, value?: unknown): string {
    return this.#addFault(this.#path, code, text, value)
  }

  #addFault(path: string, code: string, text: string, value: unknown): string {
    const { functions } = this.#writer
    const rest = value === undefined ? '' : `, ${functions.constant(value)}`
    return `${functions.constant(addFault)}(faults, ${path}, ${quote(code)}, ${quote(text)}${rest});`
  }
}

/** class-validator's rules that look at a Date. */
const dateRules: ReadonlySet<string> = new Set(['isDate', 'minDate', 'maxDate'])

/** @returns the value itself where it is not the text of a moment: the rule then says what is wrong */
function readDates(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(readDate)
  return readDate(value)
}

function readDate(value: unknown): unknown {
  const moment = typeof value === 'string' ? toMoment(value) : undefined
  return moment === undefined ? value : new Date(moment)
}

function items(count: number): string {
  return `${count} item${count === 1 ? '' : 's'}`
}
