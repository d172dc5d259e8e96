/**
 * The Jest environment of most suites: they run in the global scope of their worker, so that a worker loads `src` and the
 * packages once for all of its suites. A suite that replaces modules or timers names the environment of
 * Jest in its first comment: `@jest-environment node`.
 */
import { ModuleMocker } from 'jest-mock'

export default class SharedEnvironment {
  global = globalThis
  moduleMocker = new ModuleMocker(globalThis)
  #environment = { ...process.env }
  #console = globalThis.console
  #exit = process.exit

  async setup() {}

  async teardown() {
    this.moduleMocker.restoreAllMocks()
    globalThis.console = this.#console
    // Jest replaces it for each suite.
    process.exit = this.#exit
    for (const name of Object.keys(process.env)) delete process.env[name]
    Object.assign(process.env, this.#environment)
  }

  exportConditions() {
    return ['node', 'node-addons']
  }

  getVmContext() {
    return null
  }
}
