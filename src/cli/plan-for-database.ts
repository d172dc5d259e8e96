/** Reads an application for commands that only need its records and its database. */
import type { BootstrapOptions } from '../bootstrap/options.js'
import { planApplication, type ApplicationPlan } from '../bootstrap/plan-application.js'
import type { LoadedApplication } from './load-application.js'

/**
 * Reads the declarations. Of the environment only the variables of the database count: keys, addresses and other
 * settings of production may be missing on the machine that migrates.
 *
 * @throws {DeclarationError} with every fault of the declarations
 */
export function planForDatabase({
  module,
  options,
}: Pick<LoadedApplication, 'module' | 'options'>): Promise<ApplicationPlan> {
  const env = Object.fromEntries(
    Object.entries(options.env ?? process.env).filter(([name]) => name.startsWith('DATABASE_')),
  )
  const needed: BootstrapOptions = { ...options, env, logger: false }
  delete needed.auth
  return planApplication(module, needed)
}
