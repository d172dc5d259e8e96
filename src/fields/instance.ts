/**
 * Creates instances of a class, without its constructor if the constructor does nothing. The contents of a class are read
 * once: from its parsed source text, and from a trial instance if it initialises properties.
 */
import { constructorOf, lineage, type Class } from '../metadata/class.js'
import { parseText, type ClassBody } from '../metadata/parse-text.js'

/** Creates an instance that has only the properties that the class initialises. */
export type Constructor = new () => Record<string, unknown>

/**
 * The values with which a class initialises its properties (`limit = 10`), from one trial instance.
 *
 * @returns `undefined` if there are none, or if the constructor requires arguments or throws
 */
export function initialValues(type: Class): Readonly<Record<string, unknown>> | undefined {
  return constructionOf(type).initial
}

/**
 * The constructor for checked input. If a class only declares properties, its constructor is not called: some compilers
 * define every declared property, so that absent keys would look as if they were sent (`{ name: undefined }`), and an
 * update would change them.
 */
export function instanceConstructorOf(type: Class): InstanceConstructor {
  const { initial, hasState, constructible } = constructionOf(type)
  if ((initial !== undefined || hasState) && type.length === 0 && constructible) {
    return { Constructor: constructorOf(type) as Constructor, hasInitialValues: true }
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
  /** Methods may use state that only the constructor creates. */
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
    const instance: unknown = new (constructorOf(type))()
    return typeof instance === 'object' && instance !== null ? instance : undefined
  } catch {
    return undefined
  }
}

interface ClassContents {
  /** The class initialises a property. */
  readonly hasInitialValues: boolean
  /** The class has a constructor or private members, which exist only on constructed instances. */
  readonly hasState: boolean
}

const nothing: ClassContents = { hasInitialValues: false, hasState: false }
const anything: ClassContents = { hasInitialValues: true, hasState: true }

function readClassContents(type: Class): ClassContents {
  const text = Function.prototype.toString.call(type)
  // Most classes contain none of these and need not be parsed.
  if (!/[=#]|constructor|accessor|^function/.test(text)) return nothing
  const statement = parseText(`(${text})`)?.body[0]
  if (statement?.type !== 'ExpressionStatement') return anything
  const { expression } = statement
  if (expression.type === 'ClassExpression') return readBody(expression.body)
  // Compilers for old targets write a class as its constructor function.
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
