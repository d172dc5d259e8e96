/** Classes made of other classes, so that a rule is written once: `pick`, `omit`, `partial`. Source: public face, Records. */
import { copyEmittedType } from '../metadata/dialect.js'
import type { Class } from '../metadata/class-metadata.js'
import { addConstraint, isSent, readConstraints, type ValidatorNote } from './class-validator.js'
import {
  fieldNotes,
  givenKey,
  madeOf,
  ownRulesOnly,
  securedField,
  type FieldNote,
} from './field.js'
import { initialValues } from './instance.js'

// Each signature spells out its result type: declarations of `class Login extends pick(…)` could not name it.

/**
 * A class with some of another's fields. Rules, documentation, types and class-validator's decorators come along;
 * methods do not.
 *
 * ```ts
 * class Login extends pick(User, 'email', 'password') {}
 * ```
 *
 * @throws {TypeError} a name is no field of the class
 */
export function pick<T extends object, K extends keyof T & string>(
  type: Class<T>,
  ...names: readonly K[]
): new () => Pick<T, K> {
  const wanted = new Set<string>(names)
  refuseUnknown(type, wanted, 'pick')
  return derive(type, `${type.name}${names.map(capitalised).join('')}`, wanted) as new () => Pick<
    T,
    K
  >
}

/**
 * A class without some of another's fields.
 *
 * ```ts
 * class NewUser extends omit(User, 'id', 'createdAt') {}
 * ```
 *
 * @throws {TypeError} a name is no field of the class
 */
export function omit<T extends object, K extends keyof T & string>(
  type: Class<T>,
  ...names: readonly K[]
): new () => Omit<T, K> {
  const unwanted = new Set<string>(names)
  refuseUnknown(type, unwanted, 'omit')
  const wanted = new Set([...fieldNames(type)].filter((name) => !unwanted.has(name)))
  const name = `${type.name}Without${names.map(capitalised).join('')}`
  return derive(type, name, wanted) as new () => Omit<T, K>
}

/**
 * A class whose every key may be absent, for updates: no defaults are put in, and null is allowed only where it was.
 *
 * ```ts
 * class UserChanges extends partial(omit(User, 'id')) {}
 * ```
 */
export function partial<T extends object>(type: Class<T>): new () => Partial<T> {
  const names = fieldNames(type)
  return derive(type, `Partial${type.name}`, names, names) as new () => Partial<T>
}

/** The same class as input of a record's routes: rules about the whole row check the row, not the input. */
export function withOwnRules(type: Class): Class {
  ownRulesOnly.write(type, true)
  return type
}

/**
 * A class some of whose keys may be absent, and which sets none of them by itself: for what only some clients may send.
 *
 * @param name the new class's name
 */
export function loosen(type: Class, name: string, members: ReadonlySet<string>): Class {
  return derive(type, name, fieldNames(type), members)
}

/** @param loose members that may be absent */
function derive(
  type: Class,
  name: string,
  wanted: ReadonlySet<string>,
  loose: ReadonlySet<string> = new Set(),
): Class {
  const set = new Set([...wanted].filter((member) => !loose.has(member)))
  const initial = set.size === 0 ? undefined : initialValues(type)
  const Derivation = initial === undefined ? class {} : initialising(type, initial, set)
  Object.defineProperty(Derivation, 'name', { value: name })
  madeOf.write(Derivation, type)
  for (const [member, note] of fieldNotes.readAll(type)) {
    if (!wanted.has(member)) continue
    fieldNotes.write(Derivation, member, loose.has(member) ? loosened(note) : note)
    if (securedField.read(type, member) === true) securedField.write(Derivation, member, true)
  }
  for (const [member, constraints] of readConstraints(type)) {
    if (!wanted.has(member)) continue
    for (const { note } of constraints) addConstraint(Derivation, note)
    if (loose.has(member) && constraints[0] !== undefined)
      addConstraint(Derivation, onlyIfSent(constraints[0].note))
  }
  for (const member of wanted) copyEmittedType(type, Derivation, member)
  if (givenKey.read(type) === true) givenKey.write(Derivation, true)
  return Derivation
}

/** Properties that the class initialises are initialised here too, afresh for each instance. */
function initialising(
  type: Class,
  initial: Readonly<Record<string, unknown>>,
  wanted: ReadonlySet<string>,
): Class {
  const Constructor = type as unknown as new () => Record<string, unknown>
  const names = Object.keys(initial).filter((name) => wanted.has(name))
  if (names.length === 0) return class {}
  return class {
    constructor() {
      const source = new Constructor()
      for (const name of names) Object.assign(this, { [name]: source[name] })
    }
  }
}

function loosened({ kind, rules }: FieldNote): FieldNote {
  return { kind, rules: { ...rules, default: undefined, optional: true } }
}

function onlyIfSent(note: ValidatorNote): ValidatorNote {
  const { propertyName, target } = note
  return { type: 'conditionalValidation', target, propertyName, constraints: [isSent] }
}

function fieldNames(type: Class): ReadonlySet<string> {
  return new Set([...fieldNotes.readAll(type).keys(), ...readConstraints(type).keys()])
}

function refuseUnknown(type: Class, names: ReadonlySet<string>, by: string): void {
  const known = fieldNames(type)
  const unknown = [...names].find((name) => !known.has(name))
  if (unknown === undefined) return
  throw new TypeError(
    `${by}(${type.name}): "${unknown}" is no field of it. Fields: ${[...known].join(', ')}.`,
  )
}

function capitalised(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
