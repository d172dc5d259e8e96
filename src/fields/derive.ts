/** Derives classes from other classes: `pick`, `omit`, `partial` and `Page.of`. Source: public API, Records. */
import { isMap } from '../core/json.js'
import { copyEmittedType } from '../metadata/dialect.js'
import { constructorOf, type Class } from '../metadata/class.js'
import {
  addConstraint,
  isSent,
  readConstraints,
  type ValidatorMetadata,
} from './class-validator.js'
import {
  fieldMetadata,
  recordClass,
  derivedFrom,
  skipsObjectRules,
  securedField,
  type FieldMetadata,
} from './field.js'
import { initialValues } from './instance.js'

// Each signature contains the complete result type, because declaration files of `class Login extends pick(…)` need it.

/**
 * Creates a class with some of another's fields, including their rules, documentation, types and class-validator's
 * decorators. Methods are not copied.
 *
 * ```ts
 * class Login extends pick(User, 'email', 'password') {}
 * ```
 *
 * @throws {TypeError} a name is not a field of the class
 */
export function pick<T extends object, K extends keyof T & string>(
  type: Class<T>,
  ...names: readonly K[]
): new () => Pick<T, K> {
  const members = new Set<string>(names)
  checkFieldNames(type, members, 'pick')
  return derive(type, `${type.name}${names.map(capitalize).join('')}`, members) as new () => Pick<
    T,
    K
  >
}

/**
 * Creates a class without some of another's fields.
 *
 * ```ts
 * class NewUser extends omit(User, 'id', 'createdAt') {}
 * ```
 *
 * @throws {TypeError} a name is not a field of the class
 */
export function omit<T extends object, K extends keyof T & string>(
  type: Class<T>,
  ...names: readonly K[]
): new () => Omit<T, K> {
  const excluded = new Set<string>(names)
  checkFieldNames(type, excluded, 'omit')
  const members = new Set([...fieldNames(type)].filter((name) => !excluded.has(name)))
  const name = `${type.name}Without${names.map(capitalize).join('')}`
  return derive(type, name, members) as new () => Omit<T, K>
}

/**
 * Creates a class with only optional fields, for updates. It has no defaults. Null is allowed where the class allows it.
 *
 * ```ts
 * class UserChanges extends partial(omit(User, 'id')) {}
 * ```
 */
export function partial<T extends object>(type: Class<T>): new () => Partial<T> {
  const names = fieldNames(type)
  return derive(type, `Partial${type.name}`, names, names) as new () => Partial<T>
}

/** Marks a class as input of a record's routes: rules about the complete object check the row instead of the input. */
export function withoutObjectRules(type: Class): Class {
  skipsObjectRules.write(type, true)
  return type
}

/**
 * Creates a class in which some fields are optional and have no defaults, because only some clients may send them.
 *
 * @param name the new class's name
 */
export function withOptionalMembers(
  type: Class,
  name: string,
  members: ReadonlySet<string>,
): Class {
  return derive(type, name, fieldNames(type), members)
}

/** @param optionalMembers members that may be absent */
function derive(
  type: Class,
  name: string,
  members: ReadonlySet<string>,
  optionalMembers: ReadonlySet<string> = new Set(),
): Class {
  const required = new Set([...members].filter((member) => !optionalMembers.has(member)))
  const initialByName = required.size === 0 ? undefined : initialValues(type)
  const DerivedClass =
    initialByName === undefined ? class {} : classWithInitialValues(type, initialByName, required)
  Object.defineProperty(DerivedClass, 'name', { value: name })
  derivedFrom.write(DerivedClass, type)
  for (const [member, metadata] of fieldMetadata.readAll(type)) {
    if (!members.has(member)) continue
    const isOptional = optionalMembers.has(member)
    fieldMetadata.write(DerivedClass, member, isOptional ? toOptional(metadata) : metadata)
    if (securedField.read(type, member) === true) securedField.write(DerivedClass, member, true)
  }
  for (const [member, constraints] of readConstraints(type)) {
    if (!members.has(member)) continue
    for (const { metadata } of constraints) addConstraint(DerivedClass, metadata)
    if (optionalMembers.has(member) && constraints[0] !== undefined)
      addConstraint(DerivedClass, onlyIfSent(constraints[0].metadata))
  }
  for (const member of members) copyEmittedType(type, DerivedClass, member)
  if (recordClass.read(type) === true) recordClass.write(DerivedClass, true)
  return DerivedClass
}

/** Creates a class that initialises the same properties, with new values for each instance. */
function classWithInitialValues(
  type: Class,
  initialByName: Readonly<Record<string, unknown>>,
  members: ReadonlySet<string>,
): Class {
  const Constructor = constructorOf(type) as new () => Record<string, unknown>
  const names = Object.keys(initialByName).filter((name) => members.has(name))
  if (names.length === 0) return class {}
  return class {
    constructor() {
      const source = new Constructor()
      for (const name of names) Object.assign(this, { [name]: source[name] })
    }
  }
}

function toOptional({ kind, rules }: FieldMetadata): FieldMetadata {
  const { messages } = rules
  const withoutRequired = isMap(messages) ? { ...messages, required: undefined } : messages
  return {
    kind,
    rules: { ...rules, messages: withoutRequired, default: undefined, optional: true },
  }
}

function onlyIfSent(metadata: ValidatorMetadata): ValidatorMetadata {
  const { propertyName, target } = metadata
  return { type: 'conditionalValidation', target, propertyName, constraints: [isSent] }
}

function fieldNames(type: Class): ReadonlySet<string> {
  return new Set([...fieldMetadata.readAll(type).keys(), ...readConstraints(type).keys()])
}

function checkFieldNames(type: Class, names: ReadonlySet<string>, functionName: string): void {
  const knownNames = fieldNames(type)
  const unknown = [...names].find((name) => !knownNames.has(name))
  if (unknown === undefined) return
  throw new TypeError(
    `${functionName}(${type.name}): "${unknown}" is not one of its fields. Fields: ${[...knownNames].join(', ')}.`,
  )
}

function capitalize(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}

/**
 * A page of items. `Page.of(Item)` is the class to declare in `returns`:
 *
 * ```ts
 * @Get('/', { returns: Page.of(Item) })
 * list(query: PageQuery) { return { items, total: 171_075, limit: 20, offset: 40 } }
 * ```
 */
export class Page<T> {
  declare items: T[]
  /** The number of items on all pages. */
  declare total: number
  declare limit: number
  declare offset: number

  /** Returns the class `ItemPage`; the same one at each call. */
  static of<T extends object>(type: Class<T>): new () => Page<T> {
    const existing = pages.get(type)
    if (existing !== undefined) return existing as new () => Page<T>
    const PageOf = class extends Page<T> {}
    Object.defineProperty(PageOf, 'name', { value: `${type.name}Page` })
    fieldMetadata.write(PageOf, 'items', { kind: type, rules: { list: true } })
    for (const name of ['total', 'limit', 'offset']) {
      fieldMetadata.write(PageOf, name, { kind: 'integer', rules: { min: 0 } })
    }
    pages.set(type, PageOf)
    return PageOf
  }
}

const pages = new WeakMap<Class, new () => Page<unknown>>()
