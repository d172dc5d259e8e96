/** Arguments of handlers by names of one's own: `@Module({ arguments: { tenant: (request) => tenant.get(request) } })`. */
import type { Problem } from '../errors/declaration-error.js'
import type { HttpRequest } from '../http/request.js'
import { requestArguments } from '../routing/route.js'

/** Gives an argument's value, now or by a promise. Called once a request, right before the handler that names it. */
export type ArgumentResolver = (request: HttpRequest) => unknown

/** By name, for the whole application. */
export type OwnArguments = ReadonlyMap<string, ArgumentResolver>

/** The arguments that each module declares. */
export interface DeclaredArguments {
  /** The module's name. */
  readonly module: string
  readonly taken: Readonly<Record<string, ArgumentResolver>>
}

/** @param problems gets names that are taken, and values that are not functions */
export function collectArguments(
  declared: readonly DeclaredArguments[],
  problems: Problem[],
): OwnArguments {
  const own = new Map<string, ArgumentResolver>()
  const modules = new Map<string, string>()
  for (const { module, taken } of declared) {
    for (const [name, take] of Object.entries(taken) as [string, unknown][]) {
      const fault = faultOf(name, take, modules.get(name))
      if (fault !== undefined) {
        problems.push({ code: 'ARGUMENT_DECLARATION', ...describe(module, name, fault) })
        continue
      }
      own.set(name, take as ArgumentResolver)
      modules.set(name, module)
    }
  }
  return own
}

interface Fault {
  readonly what: string
  readonly remedy: string
}

function faultOf(name: string, take: unknown, other: string | undefined): Fault | undefined {
  if ((requestArguments as readonly string[]).includes(name)) {
    return {
      what: 'is already an argument of all handlers',
      remedy: 'Choose another name.',
    }
  }
  if (other !== undefined) {
    return { what: `is an argument of ${other}, too`, remedy: 'Rename one of them.' }
  }
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) {
    return { what: 'cannot be the name of an argument', remedy: 'Use letters, digits, _ and $.' }
  }
  if (typeof take === 'function') return undefined
  return { what: 'is not a function', remedy: `Write ${name}: (request) => …` }
}

function describe(module: string, name: string, { what, remedy }: Fault): Omit<Problem, 'code'> {
  return { message: `${module}.arguments: "${name}" ${what}.`, remedy }
}
