/**
 * The Jest transform for TypeScript: removes types and compiles decorators like `tsc`. Types are checked by
 * `npm run typecheck`.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { transformSync, version } from '@swc/core'

const options = {
  swcrc: false,
  configFile: false,
  sourceMaps: true,
  isModule: true,
  module: { type: 'es6' },
  jsc: {
    target: 'es2023',
    parser: { syntax: 'typescript', decorators: true },
    transform: {
      legacyDecorator: true,
      decoratorMetadata: true,
      useDefineForClassFields: true,
      verbatimModuleSyntax: true,
    },
    keepClassNames: true,
    preserveAllComments: true,
  },
}

const ownHash = createHash('sha256')
  .update(version)
  .update(readFileSync(import.meta.filename))
const ownKey = ownHash.digest('hex')

export default {
  process(source, filename) {
    return transformSync(source, { ...options, filename })
  },
  getCacheKey(source, filename, { instrument }) {
    const hash = createHash('sha256').update(ownKey).update(filename).update(source)
    return hash.update(String(instrument)).digest('hex').slice(0, 32)
  },
}
