/** Reads what the options of `bootstrap` and the environment say. */
import { resolveAuthOptions, type ResolvedAuthOptions } from '../auth/options.js'
import type { Log } from '../core/log.js'
import { Clock } from '../core/time.js'
import type { Problems } from '../errors/problems.js'
import {
  addressSuffix,
  CookieNames,
  portSuffix,
  type CookieNameOptions,
} from '../http/cookie-names.js'
import { Redactor } from '../serving/redaction/redactor.js'
import { readEnvironment, type Environment } from './environment.js'
import { createLog } from './logger.js'
import { resolveOptions, type BootstrapOptions, type Settings } from './options.js'

export interface Configuration {
  readonly environment: Environment
  readonly settings: Settings
  readonly authOptions: ResolvedAuthOptions
  readonly cookieNames: CookieNames
  readonly log: Log
  /** Removes secrets from the errors in the log. */
  readonly redactor: Redactor
  readonly clock: Clock
}

export interface StartHooks {
  /** True if a program reads the lines of the default log: then they are JSON. */
  readsLog?(environment: Environment): boolean
  /** Returns the log that the application writes to. */
  watchLog(log: Log, environment: Environment): Log
}

export async function readConfiguration(
  options: BootstrapOptions,
  hooks: StartHooks | undefined,
  problems: Problems,
): Promise<Configuration> {
  const environment = readEnvironment(options.env ?? process.env, problems)
  const settings = resolveOptions(options, environment, problems)
  const authOptions = resolveAuthOptions(options.auth, environment.variables, problems)
  const { production } = environment
  const chosenNames = { token: authOptions.cookieName, session: options.sessions?.cookie }
  const cookieNames = createCookieNames(settings, chosenNames, production, problems)
  const redactor = new Redactor(environment.variables)
  const log = await createLog(options.logger, {
    level: environment.logLevel,
    format: hooks?.readsLog?.(environment) === true ? 'json' : environment.logFormat,
    redactor,
  })
  return {
    environment,
    settings,
    authOptions,
    cookieNames,
    redactor,
    log: hooks?.watchLog(log, environment) ?? log,
    clock: clockOf(settings),
  }
}

/** The names are complete once the port is known. */
function createCookieNames(
  { publicUrl, basePath, listen, port }: Settings,
  chosenNames: CookieNameOptions,
  production: boolean,
  problems: Problems,
): CookieNames {
  const names = new CookieNames(chosenNames)
  if (names.token === names.session) {
    problems.add({
      code: 'INVALID_OPTION',
      message: `bootstrap sessions.cookie: ${names.session} is also the name of the token's cookie.`,
      remedy: 'Choose another name.',
    })
  }
  if (production) names.suffix = addressSuffix(publicUrl, basePath)
  else if (listen && port !== 0) names.suffix = portSuffix(port)
  return names
}

/** The system clock, unless `override` replaces it. It is needed before the providers are created. */
function clockOf({ override }: Settings): Clock {
  const replaced = override.findLast(([token]) => token === Clock)
  return replaced === undefined ? new Clock() : (replaced[1] as Clock)
}
