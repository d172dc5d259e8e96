/**
 * Makes instances of a class, without its constructor if that has nothing to do. What a class declares is
 * read once: from its text, parsed, and from one trial instance where something in it runs.
 */
import { lineage, type Class } from '../metadata/class-metadata.js'
import { parseText, type ClassBody } from '../metadata/parse-text.js'

/** Creates an empty instance. Its only own properties are the ones that the class initialises with a value. */
export type Constructor = new () => Record<string, unknown>

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
export function instanceConstructorOf(type: Class): InstanceConstructor {
  const { initial, hasState, constructible } = constructionOf(type)
  if ((initial !== undefined || hasState) && type.length === 0 && constructible) {
    return { Constructor: type as unknown as Constructor, hasInitialValues: true }
  }
  const Bare = function () {} as unknown as Constructor
  Object.defineProperty(Bare, 'prototype', { value: type.prototype as object })
  return { Constructor: Bare, hasInitialValues: false }
}

export interface InstanceConstructor {
  readonly Constructor: Constructor
  /** True if `Constructor` is the class itself, which sets initial values. */
  readonly hasInitialValues: boolean
}

interface ClassConstruction {
  readonly initial: Readonly<Record<string, unknown>> | undefined
  /** Methods may use what only a constructed instance has. */
  readonly hasState: boolean
  readonly constructible: boolean
}

const constructions = new WeakMap<Class, ClassConstruction>()

function constructionOf(type: Class): ClassConstruction {
  const cached = constructions.get(type)
  if (cached !== undefined) return cached
  const contents = lineage(type).map(readClassContents)
  const hasState = contents.some((part) => part.hasState)
  const needsTrial = hasState || contents.some((part) => part.hasInitialValues)
  const trial = needsTrial ? tryOut(type) : undefined
  const values = Object.entries(trial ?? {}).filter(([, value]) => value !== undefined)
  const construction = {
    initial: values.length === 0 ? undefined : Object.fromEntries(values),
    hasState,
    constructible: trial !== undefined,
  }
  constructions.set(type, construction)
  return construction
}

function tryOut(type: Class): object | undefined {
  try {
    const instance: unknown = new (type as unknown as Constructor)()
    return typeof instance === 'object' && instance !== null ? instance : undefined
  } catch {
    return undefined
  }
}

interface ClassContents {
  /** A property has a value from the start. */
  readonly hasInitialValues: boolean
  /** A constructor, or something private, which exists only on instances that were constructed. */
  readonly hasState: boolean
}

const nothing: ClassContents = { hasInitialValues: false, hasState: false }
const anything: ClassContents = { hasInitialValues: true, hasState: true }

function readClassContents(type: Class): ClassContents {
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

function readBody({ body }: ClassBody): ClassContents {
  let { hasInitialValues, hasState } = nothing
  for (const member of body) {
    if (member.type === 'StaticBlock') continue
    if (member.type === 'MethodDefinition' && member.kind === 'constructor') hasState = true
    if (member.static) continue
    if (member.key.type === 'PrivateIdentifier') hasState = true
    if (member.type === 'PropertyDefinition' && member.value) hasInitialValues = true
  }
  return { hasInitialValues, hasState }
}
