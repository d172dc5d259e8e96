/** The Jest test runner: runs a suite of the shared environment by native modules, and others as Jest does. */
import { createRequire, register } from 'node:module'
import { pathToFileURL } from 'node:url'

const require = createRequire(import.meta.url)
const asyncHooks = require('node:async_hooks')
const runWithCircus = require('jest-circus/runner').default
const framework = require.resolve('jest-circus/runner').replace(/runner\.js$/, 'jestAdapterInit.js')

let isRegistered = false
let loads = 0

export default async function runSuite(global, project, environment, runtime, path, send) {
  if (environment.getVmContext() !== null)
    return runWithCircus(global, project, environment, runtime, path, send)
  if (!isRegistered) {
    register('./resolve-and-load.mjs', import.meta.url)
    process.setSourceMapsEnabled(true)
    isRegistered = true
  }
  // Jest keeps a hundred frames of each error, and each expectation creates an error.
  Error.stackTraceLimit = 20
  // Jest's, which knows the source maps of modules that it loaded.
  Error.prepareStackTrace = undefined
  const storages = []
  try {
    return await runWithCircus(
      global,
      project,
      environment,
      runtimeOf(environment, storages),
      path,
      send,
    )
  } finally {
    for (const storage of storages) storage.disable()
  }
}

/**
 * The part of Jest's runtime that its runner calls.
 *
 * @param storages receives each AsyncLocalStorage of the suite's framework. An enabled one slows down every promise of the
 * process, also in later suites.
 */
function runtimeOf(environment, storages) {
  const { moduleMocker } = environment
  const jest = {
    fn: moduleMocker.fn.bind(moduleMocker),
    spyOn: moduleMocker.spyOn.bind(moduleMocker),
    restoreAllMocks: () => moduleMocker.restoreAllMocks(),
  }
  return {
    requireInternalModule(path) {
      if (path !== framework) return require(path)
      // The state of a suite is a variable of this module.
      delete require.cache[path]
      delete globalThis[Symbol.for('EVENT_HANDLERS')]
      const { AsyncLocalStorage } = asyncHooks
      // A getter in Node 24.
      const own = Object.getOwnPropertyDescriptor(asyncHooks, 'AsyncLocalStorage')
      const value = class extends AsyncLocalStorage {
        constructor() {
          super()
          storages.push(this)
        }
      }
      Object.defineProperty(asyncHooks, 'AsyncLocalStorage', { value, configurable: true })
      try {
        return require(path)
      } finally {
        Object.defineProperty(asyncHooks, 'AsyncLocalStorage', own)
      }
    },
    requireModule: require,
    setGlobalsForRuntime(globals) {
      globalThis[Symbol.for('filigree.test-globals')] = { ...globals, jest }
    },
    unstable_shouldLoadAsEsm: () => true,
    unstable_importModule: (path) => import(`${pathToFileURL(path).href}?${loads++}`),
    enterTestCode() {},
    leaveTestCode() {},
  }
}
