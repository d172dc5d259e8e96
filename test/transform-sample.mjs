/** The Jest transform for the samples: ts-jest, as in applications. Every worker loads its transforms, but few load ts-jest. */
import { createRequire } from 'node:module'

const options = { useESM: true, tsconfig: 'test/tsconfig.json', diagnostics: false }

let transformer
const load = () =>
  (transformer ??= createRequire(import.meta.url)('ts-jest').default.createTransformer(options))

export default {
  process: (...call) => load().process(...call),
  processAsync: (...call) => load().processAsync(...call),
  getCacheKey: (...call) => load().getCacheKey(...call),
  getCacheKeyAsync: (...call) => load().getCacheKeyAsync(...call),
}
