import { join } from 'node:path'
import config from '../../jest.config.mjs'

/** The suites of this folder, which need the packages of its `package.json`. */
export default {
  ...config,
  rootDir: join(import.meta.dirname, '../..'),
  roots: ['<rootDir>/test/tools'],
  testPathIgnorePatterns: ['/node_modules/'],
  testMatch: ['**/*.test.ts', '**/*.slow.ts'],
}
