/**
 * Reads the shape of a class, and checks the values in its rules (`default`, `example`, `oneOf`) by the checks of their
 * fields. `checkOf` compiles the check of such a class for programs.
 */
import { DeclarationError } from '../errors/declaration-error.js'
import { Problems } from '../errors/problems.js'
import type { FieldError } from '../errors/field-error.js'
import { HttpError } from '../errors/http-error.js'
import { compileInput, type InputCheck } from './compile-input.js'
import { hasTextForm, toProperty, textForms } from './kinds/table.js'
import type { FieldRules } from './rules.js'
import { type Shape, type ShapeField, fieldName, readShape, shapeOf } from './shape.js'
import type { Class } from '../metadata/class.js'
import { declareOptions, type OptionsOf } from '../options/declare-options.js'
import { option } from '../options/option.js'

function checkValues(shape: Shape, problems: Problems): void {
  for (const field of shape.fields) {
    const { declared } = field
    if (declared === undefined) continue
    const ofField = problems.at(fieldName(shape.type, field.name))
    checkOneOf(field, declared, ofField)
    checkDefault(field, declared, ofField)
    const violation =
      declared.example === undefined ? undefined : findViolation(field, declared.example)
    if (violation !== undefined)
      ofField.add({
        code: 'FIELD_RULE_VALUE',
        message: `example ${violation}.`,
        remedy: 'Give one that clients may send.',
      })
  }
}

function checkOneOf(field: ShapeField, { oneOf }: FieldRules, problems: Problems): void {
  if (oneOf === undefined) return
  const declared = { ...field.declared, oneOf: undefined, list: false, nullable: false }
  const item = { ...field, list: false, nullable: false, declared }
  for (const value of oneOf) {
    const violation = findViolation(item, value)
    if (violation === undefined) continue
    const message = `rule "oneOf" needs a list of values of kind "${field.kind}".`
    problems.add({ code: 'FIELD_RULE_VALUE', message, remedy: `${toText(value)} ${violation}.` })
    return
  }
}

function checkDefault(
  field: ShapeField,
  { default: defaultValue, list }: FieldRules,
  problems: Problems,
): void {
  // The value of a function is unknown before it is called.
  if (defaultValue === undefined || defaultValue === null || typeof defaultValue === 'function')
    return
  if (defaultValue === 'now' && field.entry.now !== undefined) return
  const violation = findViolation(field, defaultValue)
  if (violation !== undefined) {
    const message = `default ${toText(defaultValue)} ${violation}.`
    problems.add({ code: 'FIELD_DEFAULT', message, remedy: 'Give one that the field accepts.' })
    return
  }
  // A default is stored as it is declared.
  const form =
    list === true ? undefined : textForms.find((name) => hasTextForm(field.declared ?? {}, name))
  if (
    form === undefined ||
    applyTextForms(field, defaultValue) === toProperty(defaultValue, field.entry)
  )
    return
  const message = `default ${toText(defaultValue)} is not in the form that rule "${form}" makes.`
  problems.add({ code: 'FIELD_DEFAULT', message, remedy: 'Write it in that form.' })
}

/** @returns the reason why the field rejects the value, to be appended to its name; `undefined` if it accepts the value */
function findViolation(field: ShapeField, value: unknown): string | undefined {
  const result = check(field, value)
  if (!(result instanceof HttpError)) return undefined
  const [violation] = result.errors ?? []
  return violation === undefined ? 'is not accepted' : describeError(violation, field.name)
}

/** `name must be a string` → `must be a string`; `name.0 is …` → `has 0, which is …`. */
function describeError({ path, message }: FieldError, name: string): string {
  if (path === name && message.startsWith(`${name} `)) return message.slice(name.length + 1)
  const inner = path.slice(name.length + 1)
  return message.startsWith(`${path} `)
    ? `has "${inner}", which ${message.slice(path.length + 1)}`
    : `is not accepted: ${message}`
}

function applyTextForms(field: ShapeField, value: unknown): unknown {
  const result = check(field, value)
  return (result as Readonly<Record<string, unknown>>)[field.name]
}

/** Checks the field in an object without other fields, and without class-validator's rules, which may read other fields. */
function check(field: ShapeField, value: unknown): unknown {
  const only: ShapeField = { ...field, readOnly: false, hidden: false, constraints: [] }
  const type = class {}
  const shape: Shape = {
    type,
    name: type.name,
    fields: [only],
    key: undefined,
    isRecord: false,
    byName: new Map([[only.name, only]]),
  }
  try {
    const run = compileInput(shape, {
      from: 'program',
      unknownKeys: 'drop',
      problems: new Problems(),
    })
    return run({ [field.name]: value })
  } catch (error) {
    if (error instanceof HttpError) return error
    // A nested class that cannot be read has its own problems.
    if (error instanceof DeclarationError) return undefined
    throw error
  }
}

function toText(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    return String(value)
  }
}

const problemsOf = new WeakMap<Class, Problems>()

/**
 * Reads the shape of a class, and checks the values of its rules and of its nested classes.
 *
 * @param problems receives the problems of the class, each once. Default: they are thrown
 * @throws {DeclarationError} the class has problems, and `problems` is not set
 */
export function readCheckedShape<T extends object>(type: Class<T>, problems?: Problems): Shape<T> {
  const shape = readShape(type, problems)
  const found = valueProblems(type, shape)
  if (problems === undefined) found.throwIfAny()
  else problems.addAll(found.list)
  return shape
}

function valueProblems(type: Class, shape: Shape): Problems {
  const cached = problemsOf.get(type)
  if (cached !== undefined) return cached
  const found = new Problems()
  // Stored before nested classes are checked, because they may refer to this class.
  problemsOf.set(type, found)
  checkValues(shape, found)
  for (const { nested } of shape.fields) {
    const inner = nested === undefined ? undefined : resolve(nested)
    if (inner !== undefined) found.addAll(valueProblems(inner, shapeOf(inner)).list)
  }
  return found
}

/** A thunk without a class is reported when the check is compiled. */
function resolve(nested: () => Class): Class | undefined {
  try {
    return nested()
  } catch {
    return undefined
  }
}

const checkOfOptions = declareOptions({
  /** The name of the value in messages. Default `the value`. */
  name: option.any<string>(),
})

export interface CheckOfOptions extends OptionsOf<typeof checkOfOptions> {}

/**
 * Compiles the fields of a class into a check of values, like the check of a route's body: it creates an instance, or
 * throws a 400 that names every violation. The program may set read-only and hidden fields.
 *
 * @throws {DeclarationError} the class has invalid fields
 */
export function checkOf<T extends object>(
  type: Class<T>,
  options: CheckOfOptions = {},
): InputCheck<T> {
  checkOfOptions.check('checkOf', options)
  const { name = 'the value' } = options
  return compileInput(readCheckedShape(type), { from: 'program', inputName: name })
}
