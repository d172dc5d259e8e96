/** `@Tool`, `@Resource` and `@Prompt` make routes and records available to agents. Nothing else is available to them. */
import {
  createDecorator,
  Get,
  declareOptions,
  option,
  type OptionsOf,
  type AnyDecorator,
  type Class,
  type RouteInfo,
} from '../../index.js'

const toolOptions = declareOptions({
  /** The name of the tool: letters, digits, `_`, `-` and `.`. Default: the operation id of the route. */
  name: option.any<string>(),
  /** Shown to people. Default: the summary of `@Doc`. */
  title: option.any<string>(),
  /** For the model: what it does, and when to use it. Default: the description of `@Doc`. */
  description: option.any<string>(),
  /** On records: agents may use mutations too. Default false. */
  writes: option.flag(),
})

export interface ToolOptions extends OptionsOf<typeof toolOptions> {}

/** `false` removes a route from the tools of its controller. */
const toolDecorator = createDecorator(
  'Tool',
  (...[options = {}]: [options?: ToolOptions | false]) => ({
    check: () => (options === false ? [] : toolOptions.findProblems(options)),
  }),
)
const classOptions = new WeakMap<object, ToolOptions | false>()

/**
 * Makes a route a tool for agents. On a controller: all its routes. On a record: its rows, by the tool `query`. `@Tool(false)` on a method
 * removes one route.
 */
export function Tool(options?: ToolOptions | false): AnyDecorator
export function Tool(target: Class, context?: DecoratorContext): void
export function Tool(target: object, member: string | symbol, descriptor: PropertyDescriptor): void
export function Tool(value: unknown, context: DecoratorContext): void
export function Tool(...args: unknown[]): unknown {
  const isWithoutOptions = typeof args[0] === 'function' || args.length > 1
  const [options] = (isWithoutOptions ? [{}] : args) as [(ToolOptions | false)?]
  const decorate = toolDecorator(options ?? {}) as (...decorated: unknown[]) => unknown
  const decorateTarget = (...decorated: unknown[]): unknown => {
    const [target] = decorated
    if (typeof target === 'function' && isClassDecoration(decorated))
      classOptions.set(target, options ?? {})
    return decorate(...decorated)
  }
  return isWithoutOptions ? decorateTarget(...args) : decorateTarget
}

/** Standard decorators also receive methods as functions. */
function isClassDecoration([, context]: readonly unknown[]): boolean {
  if (context === undefined) return true
  return typeof context === 'object' && (context as { kind?: unknown }).kind === 'class'
}

/** @returns the options of a route that is a tool; undefined if it is not a tool */
export function toolOf(route: RouteInfo): ToolOptions | undefined {
  const metadata = route.metadata.get(toolDecorator)
  if (metadata === undefined) return undefined
  const [options = {}] = metadata
  return options === false ? undefined : options
}

/** The tool options of a record. */
export function toolOfRecord(type: object): ToolOptions | undefined {
  const options = classOptions.get(type)
  return options === false ? undefined : options
}

/** Completes an argument, from the text so far and the arguments that are already set. */
export type Completer = (
  text: string,
  argument: string,
  knownArguments: Readonly<Record<string, unknown>>,
) => readonly string[] | Promise<readonly string[]>

const resourceOptions = declareOptions({
  /** Default: the method's name. */
  name: option.any<string>(),
  title: option.any<string>(),
  description: option.any<string>(),
  /** The media type. Default: the content type of the response. */
  mime: option.any<string>(),
  /** Completes its arguments: one function for all of them, or one for each by name. Default none. */
  complete: option.any<Completer | Readonly<Record<string, Completer>>>(),
})

export interface ResourceOptions extends OptionsOf<typeof resourceOptions> {}

const promptOptions = declareOptions({
  /** Default: the method's name. */
  name: option.any<string>(),
  title: option.any<string>(),
  description: option.any<string>(),
  /** A class whose fields are the prompt's arguments. The handler gets it as `query`. Default none. */
  arguments: option.any<Class>(),
  /** Completes its arguments: one function for all of them, or one for each by name. Default none. */
  complete: option.any<Completer | Readonly<Record<string, Completer>>>(),
})

export interface PromptOptions extends OptionsOf<typeof promptOptions> {}

const resourceDecorator = createDecorator(
  'Resource',
  (template: string, options: ResourceOptions) => ({
    check: () => [...findTemplateProblems(template), ...resourceOptions.findProblems(options)],
  }),
)
const promptDecorator = createDecorator('Prompt', (options: PromptOptions) => ({
  check: () => promptOptions.findProblems(options),
}))

interface OptionProblem {
  readonly message: string
  readonly remedy: string
}

function findTemplateProblems(template: unknown): OptionProblem[] {
  if (typeof template === 'string' && /^[a-z][a-z\d+.-]*:(?:[^{}]|\{\w+\}(?!\{))+$/i.test(template))
    return []
  return [
    {
      message: `has a resource with an invalid URI: ${String(template)}`,
      remedy: "Write @Resource('desk://guide/{name}'), with text between two placeholders.",
    },
  ]
}

/** The names of the placeholders of a template. */
export function namesIn(template: string): string[] {
  return [...template.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
}

/**
 * Makes the return value of a method a resource: text, bytes or an object. Placeholders become its arguments. The method is an internal
 * route, which cannot be called by HTTP: `@Secured`, `@Use` and `@Throttle` apply as on other routes.
 */
export function Resource(template: string, options: ResourceOptions = {}): AnyDecorator {
  const path = `/~resource/${namesIn(template)
    .map((name) => `<${name}>/`)
    .join('')}${encodeURIComponent(template).replace(/%|[^\w-]/g, '_')}`
  return combine(Get(path, { internal: true }), resourceDecorator(template, options))
}

/**
 * Makes a method a prompt. It returns a string, or `{ messages: [{ role, content }] }`. Like `@Resource`, it is an internal route.
 */
export function Prompt(options: PromptOptions = {}): AnyDecorator {
  const { arguments: type, name = '' } = options
  const query = type === undefined ? {} : { query: type as never }
  return combine(Get(`/~prompt/${name}`, { internal: true, ...query }), promptDecorator(options))
}

function combine(first: AnyDecorator, second: AnyDecorator): AnyDecorator {
  return ((...decorated: never[]): void => {
    ;(first as (...args: never[]) => unknown)(...decorated)
    ;(second as (...args: never[]) => unknown)(...decorated)
  }) as AnyDecorator
}

export function resourceOf(
  route: RouteInfo,
): { readonly template: string; readonly options: ResourceOptions } | undefined {
  const metadata = route.metadata.get(resourceDecorator)
  return metadata && { template: metadata[0], options: metadata[1] }
}

export function promptOf(route: RouteInfo): PromptOptions | undefined {
  return route.metadata.get(promptDecorator)?.[0]
}
