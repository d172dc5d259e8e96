/**
 * Makes instances of a class, without its constructor if that has nothing to do. What a class declares is
 * read once: from its text, parsed, and from one trial instance where something in it runs.
 */
import { lineage, type Class } from '../metadata/class-metadata.js'
import { parseText, type ClassBody } from '../metadata/parse-text.js'

/** Makes an empty instance: no property of its own but those that the class initialises with a value. */
export type Make = new () => Record<string, unknown>

/**
 * The values with which a class initialises its properties (`limit = 10`), from one trial instance.
 *
 * @returns `undefined` where there are none, or where the constructor wants arguments or throws
 */
export function initialValues(type: Class): Readonly<Record<string, unknown>> | undefined {
  return constructionOf(type).initial
}

/**
 * The constructor to use for checked input. A class that only declares its properties is not constructed but given its
 * prototype: compilers that define every declared property would make absent keys look sent (`{ name: undefined }`),
 * and an update changes only what it names.
 */
export function makerOf(type: Class): Maker {
  const { initial, keepsState, constructible } = constructionOf(type)
  if ((initial !== undefined || keepsState) && type.length === 0 && constructible) {
    return { Make: type as unknown as Make, constructs: true }
  }
  const Bare = function () {} as unknown as Make
  Object.defineProperty(Bare, 'prototype', { value: type.prototype as object })
  return { Make: Bare, constructs: false }
}

export interface Maker {
  readonly Make: Make
  /** True where `Make` is the class itself. */
  readonly constructs: boolean
}

interface Construction {
  readonly initial: Readonly<Record<string, unknown>> | undefined
  /** Methods may use what only a constructed instance has. */
  readonly keepsState: boolean
  readonly constructible: boolean
}

const constructions = new WeakMap<Class, Construction>()

function constructionOf(type: Class): Construction {
  const known = constructions.get(type)
  if (known !== undefined) return known
  const declared = lineage(type).map(readDeclared)
  const keepsState = declared.some(({ state }) => state)
  const runs = keepsState || declared.some(({ initialises }) => initialises)
  const trial = runs ? tryOut(type) : undefined
  const values = Object.entries(trial ?? {}).filter(([, value]) => value !== undefined)
  const construction = {
    initial: values.length === 0 ? undefined : Object.fromEntries(values),
    keepsState,
    constructible: trial !== undefined,
  }
  constructions.set(type, construction)
  return construction
}

function tryOut(type: Class): object | undefined {
  try {
    const made: unknown = new (type as unknown as Make)()
    return typeof made === 'object' && made !== null ? made : undefined
  } catch {
    return undefined
  }
}

interface Declared {
  /** A property has a value from the start. */
  readonly initialises: boolean
  /** A constructor, or something private, which exists only on instances that were constructed. */
  readonly state: boolean
}

const nothing: Declared = { initialises: false, state: false }
const anything: Declared = { initialises: true, state: true }

function readDeclared(type: Class): Declared {
  const text = Function.prototype.toString.call(type)
  // Without any of these there is nothing to find, and most classes need no parser.
  if (!/[=#]|constructor|accessor|^function/.test(text)) return nothing
  const statement = parseText(`(${text})`)?.body[0]
  if (statement?.type !== 'ExpressionStatement') return anything
  const { expression } = statement
  if (expression.type === 'ClassExpression') return readBody(expression.body)
  // Compilers for old targets write a class as a function, which is its constructor.
  const isEmpty = expression.type === 'FunctionExpression' && expression.body.body.length === 0
  return isEmpty ? nothing : anything
}

function readBody({ body }: ClassBody): Declared {
  let { initialises, state } = nothing
  for (const member of body) {
    if (member.type === 'StaticBlock') continue
    if (member.type === 'MethodDefinition' && member.kind === 'constructor') state = true
    if (member.static) continue
    if (member.key.type === 'PrivateIdentifier') state = true
    if (member.type === 'PropertyDefinition' && member.value) initialises = true
  }
  return { initialises, state }
}
