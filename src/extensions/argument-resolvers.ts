/** Custom arguments of handlers: `@Module({ arguments: { tenant: (request) => tenant.get(request) } })`. */
import type { Problem } from '../errors/declaration-error.js'
import type { Problems } from '../errors/problems.js'
import type { HttpRequest } from '../http/request.js'
import { requestArguments } from '../routing/route.js'

/** Returns an argument's value or a promise of it. Called once per request, right before the handler that names it. */
export type ArgumentResolver = (request: HttpRequest) => unknown

/** By name, for the whole application. */
export type ArgumentResolvers = ReadonlyMap<string, ArgumentResolver>

/** The arguments that each module declares. */
export interface DeclaredArguments {
  /** The module's name. */
  readonly module: string
  readonly resolvers: Readonly<Record<string, ArgumentResolver>>
}

/** @param problems receives names that are already used or invalid, and values that are not functions */
export function collectArguments(
  declared: readonly DeclaredArguments[],
  problems: Problems,
): ArgumentResolvers {
  const collected = new Map<string, ArgumentResolver>()
  const modules = new Map<string, string>()
  for (const { module, resolvers } of declared) {
    for (const [name, resolver] of Object.entries(resolvers) as [string, unknown][]) {
      const problem = findProblem(name, resolver, modules.get(name))
      if (problem !== undefined) {
        problems.add({ code: 'ARGUMENT_DECLARATION', ...describe(module, name, problem) })
        continue
      }
      collected.set(name, resolver as ArgumentResolver)
      modules.set(name, module)
    }
  }
  return collected
}

interface ArgumentProblem {
  readonly description: string
  readonly remedy: string
}

/** @param otherModule the module that has declared the same name before */
function findProblem(
  name: string,
  resolver: unknown,
  otherModule: string | undefined,
): ArgumentProblem | undefined {
  if ((requestArguments as readonly string[]).includes(name)) {
    return {
      description: 'is already an argument of all handlers',
      remedy: 'Choose another name.',
    }
  }
  if (otherModule !== undefined) {
    const description = `is an argument of ${otherModule}, too`
    return { description, remedy: 'Rename one of them.' }
  }
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) {
    return {
      description: 'cannot be the name of an argument',
      remedy: 'Use letters, digits, _ and $.',
    }
  }
  if (typeof resolver === 'function') return undefined
  return { description: 'is not a function', remedy: `Write ${name}: (request) => …` }
}

function describe(
  module: string,
  name: string,
  { description, remedy }: ArgumentProblem,
): Omit<Problem, 'code'> {
  return { message: `${module}.arguments: "${name}" ${description}.`, remedy }
}
