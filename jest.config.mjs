import { availableParallelism } from 'node:os'

/** @type {import('jest').Config} */
const config = {
  roots: ['<rootDir>/test'],
  // Suites that need other projects' tools: `npm run test:compatibility`.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/tools/'],
  testEnvironment: '<rootDir>/test/runner/environment.mjs',
  testRunner: '<rootDir>/test/runner/run-suite.mjs',
  globalSetup: '<rootDir>/test/start.mjs',
  globalTeardown: '<rootDir>/test/end.mjs',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^filigree$': '<rootDir>/src/index.ts',
    '^filigree/client/(events|passkeys)$': '<rootDir>/client/$1.ts',
    '^filigree/(admin|throttle|health|jobs|mail|mcp|oidc|passkeys|metrics|testing|tracing|access-log|cache|compress|idempotent|security-headers)$':
      '<rootDir>/src/modules/$1/$1.ts',
    '^filigree/client$': '<rootDir>/client/index.ts',
  },
  transform: {
    // The samples as applications compile them in their tests; the rest by what only takes the types out.
    '(?<!/test)/samples/.+\\.ts$': '<rootDir>/test/transform-sample.mjs',
    '^.+\\.ts$': '<rootDir>/test/transform.mjs',
  },
  testSequencer: '<rootDir>/test/sequence.mjs',
  // One more than cores: suites wait for PostgreSQL, browsers and other processes. PostgreSQL has connections for so many.
  maxWorkers: Math.min(8, availableParallelism() + 1),
  // Node keeps every module of a suite: beyond this much, collecting what earlier suites left behind takes longer than a
  // new process.
  workerIdleMemoryLimit: '600MB',
  // For machines that are busy: what hangs is all that it stops.
  testTimeout: 180_000,
}

export default config
