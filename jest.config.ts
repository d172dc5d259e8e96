/** @jest-config-loader esbuild-register */
import { availableParallelism } from 'node:os'
import type { Config } from 'jest'

const config: Config = {
  roots: ['<rootDir>/test'],
  testEnvironment: 'node',
  globalSetup: '<rootDir>/test/start.mjs',
  globalTeardown: '<rootDir>/test/end.mjs',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // Bundles of one file each (`test/bundle-packages.mjs`).
    '^kysely$': '<rootDir>/node_modules/.cache/filigree-tests/kysely.mjs',
    '^graphql$': '<rootDir>/node_modules/.cache/filigree-tests/graphql.cjs',
    '^filigree$': '<rootDir>/src/index.ts',
    '^filigree/client/(events|passkeys)$': '<rootDir>/client/$1.ts',
    '^filigree/(admin|throttle|health|jobs|mail|mcp|oidc|passkeys|metrics|testing|tracing|access-log|cache|compress|idempotent|security-headers)$':
      '<rootDir>/src/modules/$1/$1.ts',
    '^filigree/client$': '<rootDir>/client/index.ts',
  },
  transform: {
    // The samples as applications compile them in their tests; the rest by what only takes the types out.
    '(?<!/test)/samples/.+\\.ts$': [
      'ts-jest',
      { useESM: true, tsconfig: 'test/tsconfig.json', diagnostics: false },
    ],
    '^.+\\.ts$': '<rootDir>/test/transform.mjs',
  },
  testSequencer: '<rootDir>/test/sequence.mjs',
  // One more than cores: suites wait for PostgreSQL, browsers and other processes. PostgreSQL has connections for so many.
  maxWorkers: Math.min(8, availableParallelism() + 1),
  // Node keeps every ES module that ran in a context of its own: beyond this much, collecting what is left behind by
  // earlier suites takes longer than a new process.
  workerIdleMemoryLimit: '600MB',
  // For machines that are busy: what hangs is all that it stops.
  testTimeout: 180_000,
}

export default config
